// YAML file + "key.path=value" overrides -> a checked Config; and back. A top-level Config has
//   void keys(Schema&);                 its keys (schema.h)
//   void resolve();                     fills in what was left empty, from the other values
//   void check(Problems&) const;        contradictions between keys
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/error.h"
#include "configs/schema.h"

namespace skipless {

namespace detail {
/// Reads text (named `source` in messages) into whatever `keys` lists. Throws UserError holding EVERY problem: YAML
/// syntax, unknown, duplicate, empty, mistyped, out-of-range and non-finite keys, each with line, key path, what was
/// allowed and the nearest known key; and with them the contradictions that `finish` reports.
///
/// A contradiction that may vanish once a misread value is right waits for that: one at a key whose own value is wrong,
/// or that an unknown key was probably meant for, and one whose message names such a key. So the messages of a check
/// name every key that they depend on. All wait where YAML or an argument could not be taken apart, or a key outside
/// sections has a wrong value. Of a key given twice the last value counts.
void read_config(const std::string& text, const std::string& source, const std::vector<std::string>& overrides,
                 const std::function<void(Schema&)>& keys, const std::function<void(Problems&)>& finish);
std::string write_config(const std::function<void(Schema&)>& keys);
std::string describe_config(const std::function<void(Schema&)>& keys);
}  // namespace detail

/// The text of a config file; UserError when it is missing, a folder, unreadable or larger than 1 MiB, or a pipe into
/// which nothing is written for as long as `patience`.
std::string read_config_text(const std::filesystem::path& file,
                             std::chrono::milliseconds patience = std::chrono::seconds(30));

/// Parses `text` (from `source`) with overrides "model.block=sas" applied, resolves and checks it.
template <class Config>
Config parse_config(const std::string& text, const std::string& source,
                    const std::vector<std::string>& overrides = {}) {
  Config config;
  detail::read_config(
      text, source, overrides, [&](Schema& s) { config.keys(s); },
      [&](Problems& problems) {
        config.resolve();
        config.check(problems);
      });
  return config;
}

template <class Config>
Config read_config_file(const std::filesystem::path& file, const std::vector<std::string>& overrides = {}) {
  return parse_config<Config>(read_config_text(file), file.string(), overrides);
}

/// YAML text that parse_config reads back to an equal config (doubles keep every bit).
template <class Config>
std::string write_config(Config config) {
  return detail::write_config([&](Schema& s) { config.keys(s); });
}

/// One line per key: path, type or allowed values, default, help.
template <class Config>
std::string describe_config(Config config = {}) {
  return detail::describe_config([&](Schema& s) { config.keys(s); });
}

/// The value of a key that a config does not have.
inline constexpr std::string_view kAbsentKey = "(absent)";

/// A key whose value, as written in YAML, differs between two written configs.
struct ConfigDifference {
  std::string path;
  std::string left;
  std::string right;
};
std::vector<ConfigDifference> compare_configs(const std::string& left_yaml, const std::string& right_yaml);

}  // namespace skipless
