#include "configs/yaml_node.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/printable.h"
#include "configs/utf8.h"

namespace skipless {
namespace {

constexpr std::size_t kDeepest = 16;
constexpr std::size_t kMostLines = 10;  // of one key, in its message

// Thrown out of yaml-cpp's event loop, so that a tower of brackets is left at its 17th floor.
struct TooDeep {
  int line;
  int column;
};

int line_of(const YAML::Mark& mark) {
  return mark.line + 1;
}

// Whether a text in quotes has its closing one; yaml-cpp takes the end of the file for it.
bool is_closed(std::string_view from) {
  const char quote = from[0];
  for (std::size_t i = 1; i < from.size(); ++i) {
    const bool is_doubled = quote == '\'' && from.substr(i, 2) == "''";
    if ((quote == '"' && from[i] == '\\') || is_doubled) {
      ++i;
    } else if (from[i] == quote) {
      return true;
    }
  }
  return false;
}

// What yaml-cpp lets pass in a text that is not plain, or "". `from` begins with its quote or its '|' or '>'.
std::string_view problem_of_text(std::string_view from) {
  if (from.starts_with('"') || from.starts_with('\'')) return is_closed(from) ? "" : "a quote that is never closed";
  const std::size_t after = from.find_first_not_of("|>+-0123456789");
  const bool swallows_a_line = after != std::string_view::npos && from[after] == '#';
  return swallows_a_line ? "text behind the '|' or '>' of a block; it begins in the next line" : "";
}

// Builds the tree from yaml-cpp's events. Marks count bytes, so that `text_` tells what stood at an event.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, ProblemReport& report) : text_(text), report_(report) {}

  YamlNode& root() { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // yaml-cpp gives both 'key: null' and 'key:' as a null. For the second, the mark is that of whatever comes next.
    const std::string_view here = text_from(mark);
    const bool written = is_null_text(here.substr(0, here.find_first_of(" \t\r\n,]}")));
    YamlNode node{.kind = written ? YamlNode::Kind::null : YamlNode::Kind::empty, .line = line_of(mark), .entries = {}};
    refuse_if_tagged(mark, "?", node);
    refuse_if_anchored(anchor, node);
    put(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    report_.at_line(line_of(mark), "", "an alias (*name) is not allowed in a config; write the value itself");
    put({.kind = YamlNode::Kind::refused, .line = line_of(mark), .entries = {}});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node{.kind = tag == "?" ? YamlNode::Kind::plain : YamlNode::Kind::quoted,
                  .line = line_of(mark),
                  .text = value,
                  .entries = {}};
    refuse_if_tagged(mark, tag == "!" ? "?" : tag, node);
    refuse_if_anchored(anchor, node);
    if (node.kind == YamlNode::Kind::plain && !text_from(mark).starts_with(value)) {
      refuse(node, "a text that goes on over several lines needs quotes (or a ':' is missing)");
    }
    if (node.kind == YamlNode::Kind::quoted) {
      const std::string_view problem = problem_of_text(text_from(mark));
      if (!problem.empty()) refuse(node, problem);
    }
    if (node.is_text() && value.find('\0') != std::string::npos) refuse(node, "a text may not hold a NUL character");
    put(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, YamlNode::Kind::list, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, YamlNode::Kind::map, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    report_.at_line(line_of(mark), "", fmt::format("an anchor (&{}) is not allowed in a config", printable(name)));
  }

 private:
  // A list or map whose end has not come; a refused one is still followed as what it is. A map takes keys and values in
  // turns.
  struct Open {
    YamlNode node;
    bool is_map;
    std::optional<YamlNode> key;
  };

  std::string_view text_;
  ProblemReport& report_;
  YamlNode root_;
  std::vector<Open> open_;

  std::string_view text_from(const YAML::Mark& mark) const {
    const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    return text_.substr(std::min(at, text_.size()));
  }

  void refuse(YamlNode& node, std::string_view message) {
    report_.at_line(node.line, "", message);
    node.kind = YamlNode::Kind::refused;
  }

  // `tag` is "?" for a node without one. A lone '!' looks like a quoted text in yaml-cpp's events.
  void refuse_if_tagged(const YAML::Mark& mark, const std::string& tag, YamlNode& node) {
    if (tag == "?" && !text_from(mark).starts_with("!")) return;
    refuse(node, "a tag (!name) is not allowed in a config; the type of each key is known");
  }

  static void refuse_if_anchored(YAML::anchor_t anchor, YamlNode& node) {
    if (anchor != 0) node.kind = YamlNode::Kind::refused;  // OnAnchor has reported it
  }

  void open(const YAML::Mark& mark, YamlNode::Kind kind, const std::string& tag, YAML::anchor_t anchor) {
    if (open_.size() == kDeepest) throw TooDeep{line_of(mark), mark.column + 1};
    YamlNode node{.kind = kind, .line = line_of(mark), .entries = {}};
    refuse_if_tagged(mark, tag, node);
    refuse_if_anchored(anchor, node);
    open_.push_back({std::move(node), kind == YamlNode::Kind::map, std::nullopt});
  }

  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    put(std::move(node));
  }

  void put(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (!parent.is_map) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      parent.key = std::move(node);
    } else {
      const YamlNode key = std::move(*parent.key);
      parent.key.reset();
      put_entry(parent.node, key, std::move(node));
    }
  }

  void put_entry(YamlNode& map, const YamlNode& key, YamlNode value) {
    if (key.kind == YamlNode::Kind::refused) return;
    if (!key.is_text()) {
      report_.at_line(key.line, "", "a key must be a plain name, not a list, a section or nothing");
    } else if (key.kind == YamlNode::Kind::plain && key.text == "<<") {
      report_.at_line(key.line, "", "a merge key (<<) is not allowed in a config; write the keys themselves");
    } else {
      map.entries.push_back({key.text, key.line, std::move(value)});
    }
  }
};

void report_duplicates_in(const YamlNode& node, const std::string& prefix, ProblemReport& report) {
  std::map<std::string_view, std::vector<int>> lines;
  for (const YamlEntry& entry : node.entries) lines[entry.key].push_back(entry.line);
  for (const auto& [key, where] : lines) {
    if (where.size() == 1) continue;
    const std::size_t shown = std::min(where.size(), kMostLines);
    report.at_line(where.back(), prefix + std::string(key),
                   fmt::format("given {} times, in lines {}{}", where.size(),
                               fmt::join(where.begin(), where.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                               shown < where.size() ? ", ..." : ""));
  }
  for (const YamlEntry& entry : node.entries) report_duplicates_in(entry.value, prefix + entry.key + ".", report);
  for (const YamlNode& item : node.items) report_duplicates_in(item, prefix, report);
}

// yaml-cpp skips a line that begins with '%', whatever it says.
void report_directives(std::string_view text, ProblemReport& report) {
  int line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    if (text[at] == '%') report.at_line(line, "", "a line that begins with '%' (a YAML directive) is not allowed");
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
}

struct Position {
  int line = 1;
  int column = 1;
};

Position position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<int>(offset - line_start)};
}

// The first byte that yaml-cpp would take for something else, or that no message should repeat.
bool has_bad_bytes(std::string_view text, ProblemReport& report) {
  if (const auto bad = find_invalid_utf8(text)) {
    const Position at = position_of(text, *bad);
    report.at_column(at.line, at.column, fmt::format("not valid UTF-8 (byte {} of the file)", *bad));
    return true;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool line_end = c == '\n' || (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    if (!control || line_end || c == '\t') continue;
    const Position at = position_of(text, i);
    report.at_column(at.line, at.column,
                     c == '\0' ? "a NUL byte; a config is text"
                               : fmt::format("a control character ({})", printable(text.substr(i, 1))));
    return true;
  }
  return false;
}

bool is_indented_by_tab(std::string_view text, int line) {
  std::istringstream lines{std::string(text)};
  std::string content;
  for (int i = 0; i < line && std::getline(lines, content);) ++i;
  const std::size_t first = content.find_first_not_of(" \t");
  return content.substr(0, first).find('\t') != std::string::npos;
}

void report_syntax(std::string_view text, const YAML::Exception& error, ProblemReport& report) {
  if (error.mark.is_null()) {
    report.at_source(fmt::format("not valid YAML: {}", error.msg));
    return;
  }
  const int line = line_of(error.mark);
  std::string message = fmt::format("not valid YAML: {}", printable(error.msg));
  const auto at = static_cast<std::size_t>(error.mark.pos);
  if (at < text.size() && text[at] == '*') message += " (a text that begins with '*' needs quotes)";
  if (is_indented_by_tab(text, line)) message += " (the line is indented by a tab; use blanks)";
  report.at_column(line, error.mark.column + 1, message);
}

}  // namespace

bool is_null_text(std::string_view plain) {
  return plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

std::optional<YamlNode> parse_yaml(std::string_view text, ProblemReport& report) {
  if (text.size() > kLargestConfig) {
    report.at_source(fmt::format("{} bytes; a config has at most {}", text.size(), kLargestConfig));
    return std::nullopt;
  }
  text = without_byte_order_mark(text);
  if (has_bad_bytes(text, report)) return std::nullopt;
  report_directives(text, report);

  std::istringstream stream{std::string(text)};
  TreeBuilder builder(text, report);
  YamlNode root;
  try {
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) root = std::move(builder.root());
    TreeBuilder rest(text, report);
    if (parser.HandleNextDocument(rest)) {
      report.at_line(rest.root().line, "", "a second document begins here; a config is one document");
      return std::nullopt;
    }
  } catch (const TooDeep& deep) {
    report.at_column(deep.line, deep.column, fmt::format("more than {} levels of nesting", kDeepest));
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    report_syntax(text, error, report);
    return std::nullopt;
  }
  return root;
}

void report_duplicates(const YamlNode& root, ProblemReport& report) {
  report_duplicates_in(root, "", report);
}

}  // namespace skipless
