#include "models/convert/json_settings.h"

#include <fmt/format.h>

#include <utility>

#include "configs/error.h"

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

int64_t JsonSettings::count(const char* key) const {
  const auto& value = at(key);
  if (!value.is_number_integer() || value.get<int64_t>() < 1) wrong(key, "a whole number above 0");
  return value.get<int64_t>();
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
  throw UserError(
      fmt::format("{}: {}{} is {}, which is not supported; allowed: {}", source_, path_, key, at(key).dump(), allowed));
}

}  // namespace skipless
