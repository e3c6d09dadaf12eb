#include "models/safetensors.h"

#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "configs/atomic_file.h"
#include "configs/error.h"
#include "models/safetensors_header.h"

namespace skipless {

static_assert(std::endian::native == std::endian::little, "the format is little endian, and so must this machine be");

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw UserError(fmt::format("{}: not a usable safetensors file: {}", path.string(), reason));
}

/// A regular file mapped read-only for as long as this lives.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) throw UserError(fmt::format("{}: {}", path.string(), std::strerror(errno)));
    struct stat status {};
    const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    const int reason = errno;
    ::close(descriptor);
    if (!regular) throw UserError(fmt::format("{}: not a file", path.string()));
    if (data_ == MAP_FAILED) throw UserError(fmt::format("{}: {}", path.string(), std::strerror(reason)));
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

std::string_view header_of(const std::filesystem::path& path, std::string_view file) {
  uint64_t length = 0;
  if (file.size() < sizeof(length)) {
    refuse(path, fmt::format("{} bytes, shorter than the 8 bytes of the header's length", file.size()));
  }
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kMaxSafetensorsHeader) {
    refuse(path, fmt::format("header length {} above {}", length, kMaxSafetensorsHeader));
  }
  if (length > file.size() - sizeof(length)) {
    refuse(path, fmt::format("header length {}, but {} bytes follow: truncated or corrupt", length,
                             file.size() - sizeof(length)));
  }
  return file.substr(sizeof(length), length);
}

at::Tensor copy_tensor(const SafetensorsEntry& entry, std::string_view data) {
  auto tensor = at::empty(entry.shape, at::TensorOptions(entry.dtype->type));
  if (entry.end > entry.begin) std::memcpy(tensor.data_ptr(), data.data() + entry.begin, entry.end - entry.begin);
  return tensor;
}

}  // namespace

TensorFile read_safetensors(const std::filesystem::path& path) {
  const MappedFile mapped(path);
  const auto file = mapped.bytes();
  const auto header_text = header_of(path, file);
  const auto data = file.substr(sizeof(uint64_t) + header_text.size());
  TensorFile result;
  try {
    auto header = parse_safetensors_header(header_text, data.size());
    for (const auto& [name, entry] : header.entries) {
      const auto bytes = data.substr(entry.begin, entry.end - entry.begin);
      if (entry.dtype->type == at::kBool && bytes.find_first_not_of(std::string_view("\0\1", 2)) != bytes.npos) {
        throw SafetensorsHeaderError(name + ": a BOOL that is neither 0 nor 1");
      }
    }
    for (const auto& [name, entry] : header.entries) result.tensors.emplace(name, copy_tensor(entry, data));
    result.metadata = std::move(header.metadata);
  } catch (const SafetensorsHeaderError& error) {
    refuse(path, error.what());
  }
  return result;
}

void write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  std::vector<std::pair<std::string, at::Tensor>> order(file.tensors.begin(), file.tensors.end());
  for (const auto& [name, tensor] : order) {
    if (safetensors_dtype(tensor.scalar_type()) == nullptr) {
      throw UserError(fmt::format("{}: tensor {} has dtype {}, which is not written; allowed: {}", path.string(), name,
                                  c10::toString(tensor.scalar_type()), safetensors_dtype_names()));
    }
  }
  const auto rank = [](const auto& item) { return safetensors_dtype(item.second.scalar_type()); };
  // The table lists the dtypes largest first; the map has sorted the names.
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });

  auto metadata = file.metadata;
  metadata.emplace("format", "pt");
  SafetensorsHeaderWriter header(metadata);
  for (const auto& [name, tensor] : order) header.add(name, tensor);
  const std::string text = header.text();

  AtomicFile out(path);
  const uint64_t length = text.size();
  out.write(&length, sizeof(length));
  out.write(text);
  for (const auto& [name, tensor] : order) {
    const auto plain = tensor.detach().cpu().contiguous();
    if (plain.nbytes() > 0) out.write(plain.data_ptr(), plain.nbytes());
  }
  out.commit();
}

}  // namespace skipless
