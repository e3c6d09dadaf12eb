#include "data/strict_json.h"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "configs/error.h"

namespace skipless {
namespace {

constexpr int kDeepest = 64;

/// Messages of the parser begin with a tag such as "[json.exception.parse_error.101] ", which says nothing to a user.
std::string without_tag(std::string_view message) {
  const std::size_t end = message.find("] ");
  return std::string(message.starts_with('[') && end != std::string_view::npos ? message.substr(end + 2) : message);
}

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, const std::string& source) {
  using nlohmann::json;
  std::vector<std::unordered_set<std::string>> keys;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      if (depth >= kDeepest) {
        throw UserError(fmt::format("'{}': JSON is nested deeper than {} levels", source, kDeepest));
      }
    }
    if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key) {
      if (!keys.back().insert(value.get_ref<const std::string&>()).second) {
        throw UserError(fmt::format("'{}': the key {} stands twice in one JSON object", source, brief_json(value)));
      }
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception& error) {
    throw UserError(fmt::format("'{}' is not valid JSON: {}", source, without_tag(error.what())));
  }
}

std::string brief_json(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 120;
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace skipless
