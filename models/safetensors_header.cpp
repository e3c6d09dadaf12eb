#include "models/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace skipless {

namespace {

constexpr std::array<SafetensorsDtype, 10> kDtypes{{{"I64", at::kLong},
                                                    {"F64", at::kDouble},
                                                    {"F32", at::kFloat},
                                                    {"I32", at::kInt},
                                                    {"BF16", at::kBFloat16},
                                                    {"F16", at::kHalf},
                                                    {"I16", at::kShort},
                                                    {"I8", at::kChar},
                                                    {"U8", at::kByte},
                                                    {"BOOL", at::kBool}}};

/// As many as LibTorch's own operations take.
constexpr std::size_t kMaxDimensions = 64;

constexpr std::string_view kMetadata = "__metadata__";

/// A name for messages: a file can hold any text of any length.
std::string shown(const std::string& name) {
  constexpr std::size_t kLongest = 80;
  const auto text = nlohmann::json(name.substr(0, kLongest))
                        .dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  return text.substr(1, text.size() - 2) + (name.size() > kLongest ? "..." : "");
}

/// Receives the header's JSON piece by piece, so that nothing of it is built that the format does not have: depth 1
/// holds tensors and the metadata, depth 2 their fields, depth 3 the two lists of numbers.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader take() { return std::move(header_); }
  /// What the parser found wrong with the JSON itself, or empty.
  const std::string& syntax_error() const { return syntax_error_; }

  bool start_object(std::size_t) override {
    if (depth_ == 0 || depth_ == 1) {
      ++depth_;
      if (depth_ == 2 && !in_metadata()) fields_.clear();
      return true;
    }
    misplaced("an object");
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata()) finish_tensor();
    --depth_;
    return true;
  }

  bool key(std::string& text) override {
    if (depth_ == 1) {
      name_ = text;
      if (in_metadata() ? std::exchange(metadata_seen_, true) : header_.entries.count(name_) > 0) {
        fail("stands twice in the header");
      }
      if (!in_metadata()) header_.entries.emplace(name_, SafetensorsEntry{});
    } else {
      field_ = text;
      if (in_metadata()) {
        if (header_.metadata.count(field_) > 0) fail(fmt::format("key '{}' stands twice", shown(field_)));
      } else if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets") {
        fail(fmt::format("unknown field '{}'; allowed: dtype, shape, data_offsets", shown(field_)));
      } else if (!fields_.insert(field_).second) {
        fail(fmt::format("field '{}' stands twice", field_));
      }
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata() || field_ == "dtype") misplaced("a list");
    ++depth_;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    --depth_;
    auto& entry = header_.entries[name_];
    if (field_ == "shape") {
      entry.shape.assign(numbers_.begin(), numbers_.end());
    } else {
      if (numbers_.size() != 2) fail(fmt::format("data_offsets holds {} numbers, not 2", numbers_.size()));
      entry.begin = numbers_[0];
      entry.end = numbers_[1];
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3) misplaced("a number");
    // Sizes and offsets are int64 in every tensor library.
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(fmt::format("{}: {} overflows", field_, value));
    }
    if (field_ == "shape" && numbers_.size() == kMaxDimensions) {
      fail(fmt::format("shape has more than {} dimensions", kMaxDimensions));
    }
    if (field_ == "data_offsets" && numbers_.size() == 2) fail("data_offsets holds more than 2 numbers");
    numbers_.push_back(value);
    return true;
  }

  bool string(std::string& text) override {
    if (depth_ == 2 && in_metadata()) {
      header_.metadata.emplace(field_, text);
      return true;
    }
    if (depth_ != 2 || field_ != "dtype") misplaced("a string");
    const auto found = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.name == text; });
    if (found == kDtypes.end()) {
      fail(fmt::format("dtype {} is not supported; allowed: {}", shown(text), safetensors_dtype_names()));
    }
    header_.entries[name_].dtype = &*found;
    return true;
  }

  bool number_integer(number_integer_t value) override {
    if (depth_ == 3) fail(fmt::format("{}: {} is negative", field_, value));
    misplaced("a number");
  }
  bool number_float(number_float_t, const std::string& text) override {
    if (depth_ == 3) fail(fmt::format("{}: {} is not a whole number of 64 bits", field_, shown(text)));
    misplaced("a number");
  }
  bool null() override { misplaced("null"); }
  bool boolean(bool) override { misplaced("a boolean"); }
  bool binary(nlohmann::json::binary_t&) override { misplaced("bytes"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    syntax_error_ = fmt::format("header not JSON, at its byte {}", position);
    return false;
  }

 private:
  bool in_metadata() const { return name_ == kMetadata; }

  [[noreturn]] void fail(const std::string& reason) const {
    throw SafetensorsHeaderError(shown(name_) + ": " + reason);
  }

  [[noreturn]] void misplaced(const std::string& what) const {
    if (depth_ == 0) throw SafetensorsHeaderError("header does not start with {");
    if (depth_ == 1) {
      fail(fmt::format("{} where {} should be", what, in_metadata() ? "the metadata's object" : "a tensor's object"));
    }
    if (in_metadata()) fail(fmt::format("values must be strings, and '{}' is {}", shown(field_), what));
    if (depth_ == 3) {
      const bool nested = what == "a list" || what == "an object";
      fail(nested ? "header nested too deep" : fmt::format("{} holds {}, not only whole numbers", field_, what));
    }
    fail(fmt::format("{} is {}", field_, what));
  }

  void finish_tensor() const {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (fields_.count(field) == 0) fail(fmt::format("no field '{}'", field));
    }
  }

  SafetensorsHeader header_;
  std::string syntax_error_;
  int depth_ = 0;
  std::string name_, field_;
  bool metadata_seen_ = false;
  std::set<std::string> fields_;
  std::vector<uint64_t> numbers_;
};

uint64_t bytes_of(const std::string& name, const SafetensorsEntry& entry) {
  // Dimensions of 0 count as 1 in the overflow check: strides are products that leave them out.
  uint64_t bytes = c10::elementSize(entry.dtype->type);
  bool empty = false;
  for (const auto dimension : entry.shape) {
    if (dimension == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dimension), &bytes) ||
               bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw SafetensorsHeaderError(fmt::format("{}: shape overflow", shown(name)));
    }
  }
  return empty ? 0 : bytes;
}

void check_ranges(const SafetensorsHeader& header, uint64_t data_size) {
  std::vector<std::pair<const std::string*, const SafetensorsEntry*>> order;
  for (const auto& [name, entry] : header.entries) {
    if (entry.begin > entry.end) {
      throw SafetensorsHeaderError(
          fmt::format("{}: data_offsets [{}, {}] run backwards", shown(name), entry.begin, entry.end));
    }
    const uint64_t needed = bytes_of(name, entry);
    if (needed != entry.end - entry.begin) {
      throw SafetensorsHeaderError(fmt::format("{}: shape and dtype need {} bytes, data_offsets give {}", shown(name),
                                               needed, entry.end - entry.begin));
    }
    order.emplace_back(&name, &entry);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  uint64_t covered = 0;
  for (const auto& [name, entry] : order) {
    if (entry->begin != covered) {
      throw SafetensorsHeaderError(
          fmt::format("{}: begins at byte {} of the data, but the tensors before it end at {}: "
                      "hole or overlap",
                      shown(*name), entry->begin, covered));
    }
    covered = entry->end;
  }
  if (covered != data_size) {
    throw SafetensorsHeaderError(fmt::format("data_offsets cover {} of {} data bytes", covered, data_size));
  }
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

}  // namespace

const SafetensorsDtype* safetensors_dtype(at::ScalarType type) {
  const auto found = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.type == type; });
  return found == kDtypes.end() ? nullptr : &*found;
}

std::string safetensors_dtype_names() {
  std::vector<std::string_view> names;
  for (const auto& dtype : kDtypes) names.push_back(dtype.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_size) {
  if (text.empty() || text.front() != '{') throw SafetensorsHeaderError("header does not start with {");
  // The JSON library takes a NUL byte for the end of its input.
  if (const auto nul = text.find('\0'); nul != text.npos) {
    throw SafetensorsHeaderError(fmt::format("header not JSON, a NUL at its byte {}", nul));
  }
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text, &reader)) throw SafetensorsHeaderError(reader.syntax_error());
  auto header = reader.take();
  check_ranges(header, data_size);
  return header;
}

SafetensorsHeaderWriter::SafetensorsHeaderWriter(const std::map<std::string, std::string>& metadata)
    : json_(fmt::format("{{{}:{}", quoted(std::string(kMetadata)), nlohmann::json(metadata).dump())) {}

void SafetensorsHeaderWriter::add(const std::string& name, const at::Tensor& tensor) {
  const uint64_t end = offset_ + tensor.nbytes();
  const auto* dtype = safetensors_dtype(tensor.scalar_type());
  TORCH_CHECK(dtype != nullptr && name != kMetadata, "a tensor that the format cannot hold: ", name);
  json_ += fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", quoted(name), dtype->name,
                       fmt::join(tensor.sizes(), ","), offset_, end);
  offset_ = end;
}

std::string SafetensorsHeaderWriter::text() const {
  auto text = json_ + "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace skipless
