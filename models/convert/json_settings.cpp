#include "models/convert/json_settings.h"

#include <fmt/format.h>

#include <utility>

#include "configs/error.h"
#include "configs/printable.h"

namespace skipless {

using nlohmann::json;

namespace {

const json& null_value() {
  static const json kNull;
  return kNull;
}

}  // namespace

JsonSettings::JsonSettings(const json& settings, std::string source, std::string path)
    : settings_(settings), source_(std::move(source)), path_(std::move(path)) {}

const json& JsonSettings::at(const char* key) const {
  return settings_.is_object() && settings_.contains(key) ? settings_[key] : null_value();
}

int64_t JsonSettings::integer(const char* key, int64_t least) const {
  const auto& value = at(key);
  const bool above = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX};
  if (!value.is_number_integer() || above || value.get<int64_t>() < least) {
    wrong(key, fmt::format("an integer from {} on", least));
  }
  return value.get<int64_t>();
}

std::optional<int64_t> JsonSettings::id(const char* key) const {
  return at(key).is_null() ? std::nullopt : std::optional(integer(key, 0));
}

double JsonSettings::number(const char* key, double otherwise) const {
  const auto& value = at(key);
  if (value.is_null()) return otherwise;
  if (!value.is_number()) wrong(key, "a number");
  return value.get<double>();
}

bool JsonSettings::flag(const char* key, bool otherwise) const {
  const auto& value = at(key);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) wrong(key, "true or false");
  return value.get<bool>();
}

std::string JsonSettings::text(const char* key, const std::string& otherwise) const {
  const auto& value = at(key);
  if (value.is_null()) return otherwise;
  if (!value.is_string()) wrong(key, "a text");
  return value.get<std::string>();
}

JsonSettings JsonSettings::section(const char* key) const {
  const auto& value = at(key);
  if (!value.is_null() && !value.is_object()) wrong(key, "a section");
  return {value, source_, fmt::format("{}{}.", path_, key)};
}

void JsonSettings::require(const char* key, bool supported) const {
  if (flag(key, supported) != supported) wrong(key, supported ? "true" : "false");
}

void JsonSettings::require_text(const char* key, const std::string& supported) const {
  if (text(key, supported) != supported) wrong(key, supported);
}

void JsonSettings::wrong(const char* key, const std::string& allowed) const {
  constexpr std::size_t kMost = 200;
  throw UserError(fmt::format("{}: {}{} is {}, which is not supported; allowed: {}", source_, path_, key,
                              printable(at(key).dump(), kMost), allowed));
}

}  // namespace skipless
