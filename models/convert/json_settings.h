// Typed reads of another code's settings.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace skipless {

/// A section of a JSON file. A key that is absent is read as null, which stands for that code's own default; a value of
/// another type is a UserError: file, key, value, and what is allowed.
class JsonSettings {
 public:
  /// `source`: the file, for messages; `path`: of this section in it, "arch.embedding.". `settings` outlives this.
  JsonSettings(const nlohmann::json& settings, std::string source, std::string path = "");

  const nlohmann::json& at(const char* key) const;
  /// Above 0; without a default it must be there.
  int64_t count(const char* key) const { return integer(key, 1); }
  /// From 0 on, or null.
  std::optional<int64_t> id(const char* key) const;
  double number(const char* key, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, const std::string& otherwise) const;
  /// A nested section; one that is absent has no keys.
  JsonSettings section(const char* key) const;

  /// A setting that changes what is computed, of which one value alone is supported.
  void require(const char* key, bool supported) const;
  void require_text(const char* key, const std::string& supported) const;

  [[noreturn]] void wrong(const char* key, const std::string& allowed) const;

 private:
  int64_t integer(const char* key, int64_t least) const;

  const nlohmann::json& settings_;
  std::string source_;
  std::string path_;
};

}  // namespace skipless
