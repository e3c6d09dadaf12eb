#include "models/convert/json_file.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "configs/error.h"

namespace skipless {

nlohmann::json read_json_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kLargest = 16 << 20;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw UserError(fmt::format("{}: {}", path.string(), error ? error.message() : "no such file"));
  }
  if (const auto size = std::filesystem::file_size(path, error); error || size > kLargest) {
    throw UserError(fmt::format("{}: {} bytes are more than a config has", path.string(), size));
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw UserError(path.string() + ": cannot be read");
  try {
    return nlohmann::json::parse(text.str());
  } catch (const nlohmann::json::parse_error& e) {
    throw UserError(fmt::format("{}: not JSON, at byte {}", path.string(), e.byte));
  }
}

}  // namespace skipless
