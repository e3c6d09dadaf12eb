// The JSON header of a safetensors file: what it may say, checked, and how it is written.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace skipless {

/// The format's own limit.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsDtype {
  std::string_view name;
  at::ScalarType type;
};

/// Null for a dtype without a name here. Pointers compare in the order in which tensors are written: largest element
/// first.
const SafetensorsDtype* safetensors_dtype(at::ScalarType type);
/// "I64, F64, ...", for messages.
std::string safetensors_dtype_names();

struct SafetensorsEntry {
  const SafetensorsDtype* dtype = nullptr;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // in the bytes after the header
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// What is wrong with a header, in words, without the file's name.
class SafetensorsHeaderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses and checks everything: strict JSON without duplicate keys, known dtypes, shapes whose bytes are exactly the
/// range given, and ranges that cover the `data_size` bytes without hole or overlap. Throws SafetensorsHeaderError.
SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_size);

/// The header of tensors that follow one another in the order in which they are added.
class SafetensorsHeaderWriter {
 public:
  explicit SafetensorsHeaderWriter(const std::map<std::string, std::string>& metadata);
  void add(const std::string& name, const at::Tensor& tensor);
  /// Closed, and padded with spaces so that the data begin at a multiple of 8.
  std::string text() const;

 private:
  std::string json_;
  uint64_t offset_ = 0;
};

}  // namespace skipless
