// YAML text as a tree that keeps what yaml-cpp's own tree loses: lines, quotes, and each of several equal keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/problem_report.h"

namespace skipless {

struct YamlEntry;

struct YamlNode {
  enum class Kind {
    plain,   // text without quotes
    quoted,  // text in quotes, or a block of text
    null,    // null or ~
    empty,   // nothing stands where a value is due
    list,
    map,
    refused,  // already reported
  };

  Kind kind = Kind::empty;
  int line = 0;
  std::string text{};  // of plain and quoted
  std::vector<YamlNode> items{};
  std::vector<YamlEntry> entries;

  bool is_text() const { return kind == Kind::plain || kind == Kind::quoted; }
};

/// One key of a map with its value.
struct YamlEntry {
  std::string key;
  int line = 0;
  YamlNode value;
};

/// The texts that stand for null when they are not quoted.
bool is_null_text(std::string_view plain);

/// Parses one document. What a config may not use is reported with its line: anchors, aliases, tags, merge keys, keys
/// that are not plain names, a second document. Nothing is returned where the tree as a whole cannot be used: invalid
/// YAML, invalid UTF-8, control characters, more than 1 MiB, more than 16 levels.
std::optional<YamlNode> parse_yaml(std::string_view text, ProblemReport& report);

/// Keys given more than once in one map.
void report_duplicates(const YamlNode& root, ProblemReport& report);

constexpr std::size_t kLargestConfig = std::size_t{1} << 20;

}  // namespace skipless
