// JSON read strictly: nlohmann's parser keeps the last of two equal keys and has no bound on nesting.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace skipless {

/// Parses `text`, named `source` in messages. UserError for syntax errors (with the byte), invalid UTF-8, a key that
/// stands twice in one object, and nesting deeper than 64.
nlohmann::json parse_strict_json(std::string_view text, const std::string& source);

/// A value as short text for a message.
std::string brief_json(const nlohmann::json& value);

}  // namespace skipless
