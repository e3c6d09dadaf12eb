#include "models/convert/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "configs/error.h"

namespace skipless {

namespace {

/// What shows a value in a message walks through it level by level.
constexpr int kDeepest = 64;

/// How many brackets are open at once.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

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
  if (depth_of(text.str()) > kDeepest) {
    throw UserError(fmt::format("{}: nested deeper than {} levels", path.string(), kDeepest));
  }
  try {
    return nlohmann::json::parse(text.str());
  } catch (const nlohmann::json::parse_error& e) {
    throw UserError(fmt::format("{}: not JSON, at byte {}", path.string(), e.byte));
  } catch (const nlohmann::json::out_of_range&) {
    throw UserError(fmt::format("{}: a number in it is beyond the largest double", path.string()));
  }
}

}  // namespace skipless
