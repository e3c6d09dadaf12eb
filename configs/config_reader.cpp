// The Schema that fills a Config from a YAML tree and from overrides, and collects every problem with its place.
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/config_file.h"
#include "configs/key_value.h"
#include "configs/nearest.h"
#include "configs/overrides.h"
#include "configs/printable.h"
#include "configs/synonyms.h"
#include "configs/yaml_node.h"

namespace skipless {
namespace {

constexpr std::size_t kMostOfOneName = 3;

// "model.sas.alpha" -> "model.sas" and "alpha"
std::pair<std::string, std::string> split_leaf(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

// Whether `text` has `name` as a word of its own.
bool names(std::string_view text, std::string_view name) {
  const auto in_word = [&](std::size_t at) {
    if (at >= text.size()) return false;
    const char c = text[at];
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + name.size())) return true;
  }
  return false;
}

// A key that the Config does not list.
struct UnknownKey {
  std::string message;
  std::vector<std::string> meant;  // paths of keys and sections that it was probably written for
};

// All that a Config lists, and the suggestions that follow from it.
class KnownKeys {
 public:
  void add(const std::string& path, bool is_section) {
    if (!is_section_.emplace(path, is_section).second) throw std::logic_error("a config lists twice: " + path);
    const auto [section, leaf] = split_leaf(path);
    leaves_in_[section].push_back(leaf);
    paths_of_[leaf].push_back(path);
  }

  bool is_key(const std::string& path) const { return is(path, false); }
  bool is_section(const std::string& path) const { return is(path, true); }

  // Why `leaf` is no key of `section`, and what was probably meant.
  UnknownKey unknown(const std::string& section, const std::string& leaf) const {
    const std::string prefix = section.empty() ? "" : section + ".";
    if (const std::string nested = prefix + leaf; is_key(nested)) {
      return {fmt::format("a name with dots; write {} below a section {}", split_leaf(nested).second,
                          split_leaf(nested).first),
              {nested}};
    }
    if (const auto sibling = nearest_key(leaf, leaves(section))) {
      return {fmt::format("unknown key (did you mean '{}'?)", *sibling), {prefix + *sibling}};
    }
    if (const auto elsewhere = paths_of_.find(leaf); elsewhere != paths_of_.end()) {
      return {belongs(elsewhere->second), elsewhere->second};
    }
    std::vector<std::string> all_leaves;
    for (const auto& [name, paths] : paths_of_) all_leaves.push_back(name);
    if (const auto near = nearest_key(leaf, all_leaves)) {
      const std::vector<std::string>& paths = paths_of_.at(*near);
      return {fmt::format("unknown key (did you mean '{}'?)", fmt::join(few(paths), "' or '")), paths};
    }
    return unknown_at_its_level(section);
  }

  // The longest part of `path` that is a key or a section; "" stands for the top.
  std::string known_part(std::string path) const {
    while (!path.empty() && !is_section_.contains(path)) path = split_leaf(path).first;
    return path;
  }

 private:
  std::map<std::string, bool> is_section_;
  std::map<std::string, std::vector<std::string>> leaves_in_;  // by section
  std::map<std::string, std::vector<std::string>> paths_of_;   // by leaf

  bool is(const std::string& path, bool section) const {
    const auto found = is_section_.find(path);
    return found != is_section_.end() && found->second == section;
  }

  std::vector<std::string> leaves(const std::string& section) const {
    const auto found = leaves_in_.find(section);
    return found == leaves_in_.end() ? std::vector<std::string>{} : found->second;
  }

  // What is known where a path that nothing resembles leaves what the Config lists: at `section`, or, if there is no
  // such section, at the nearest one above it.
  UnknownKey unknown_at_its_level(const std::string& section) const {
    const std::string level = known_part(section);
    const std::vector<std::string> known = leaves(level);
    const std::string list =
        fmt::format("known {}: {}", level.empty() ? "at the top" : "in " + level, fmt::join(known, ", "));
    if (level == section) return {fmt::format("unknown key; {}", list), {}};
    const std::size_t begin = level.empty() ? 0 : level.size() + 1;
    const std::string name = section.substr(begin, section.find('.', begin) - begin);
    std::vector<std::string> meant;
    if (const auto near = nearest_name(name, known)) meant.push_back(section.substr(0, begin) + *near);
    return {fmt::format("unknown key: '{}' is no section{}; {}", section.substr(0, begin + name.size()),
                        did_you_mean(name, known), list),
            meant};
  }

  static std::vector<std::string> few(std::vector<std::string> paths) {
    if (paths.size() > kMostOfOneName) paths.resize(kMostOfOneName);
    return paths;
  }

  static std::string belongs(const std::vector<std::string>& paths) {
    const std::string section = split_leaf(paths[0]).first;
    if (paths.size() > 1) return fmt::format("unknown key here; it belongs to {}", fmt::join(few(paths), " or "));
    if (section.empty()) return "unknown key here; it belongs at the top level";
    return fmt::format("unknown key here; it belongs in section {}, as {}", section, paths[0]);
  }
};

class ConfigReader : public Schema {
 public:
  ConfigReader(const YamlNode& root, const std::vector<Override>& overrides, ProblemReport& report)
      : root_(root), overrides_(overrides), report_(report), levels_{{"", {&root}}} {}

  // What the file and the command line give and the Config does not list.
  void report_unknown() {
    report_unknown_in(root_, "");
    for (const Override& given : overrides_) {
      if (known_.is_section(given.path)) {
        unread_.insert(given.path);
        report_.at_override(given.argument, "a section; give its keys one by one, as " + given.path + ".key=value");
      } else if (!known_.is_key(given.path)) {
        report_.at_override(given.argument, unknown_override(given.path));
      }
    }
  }

  /// False for a contradiction that may be none once all values are read (config_file.h).
  bool is_certain(const Problems::Problem& problem) const {
    if (unknown_count_ > ProblemReport::kShown) return false;
    const auto within = [](const std::string& inner, const std::string& outer) {
      return inner == outer || inner.starts_with(outer + ".");
    };
    return std::none_of(unread_.begin(), unread_.end(), [&](const std::string& path) {
      return top_section(path).empty() || within(problem.path, path) || within(path, problem.path) ||
             names(problem.message, split_leaf(path).second);
    });
  }

  void report_at_place(const Problems::Problem& problem) {
    std::string path = problem.path;
    // A problem of something that is not a key as such is shown where the section around it begins.
    while (!path.empty() && !known_.is_key(path) && !places_.contains(path)) path = split_leaf(path).first;
    const auto place = places_.find(path);
    if (place == places_.end()) {
      report_.at_default(problem.path, problem.message);
    } else if (place->second.given != nullptr) {
      report_.at_override(place->second.given->argument, problem.path + ": " + problem.message);
    } else {
      report_.at_line(place->second.line, problem.path, problem.message);
    }
  }

 protected:
  void value(std::string_view name, KeyValue& value, std::string_view) override {
    const std::string path = path_of(name);
    known_.add(path, false);
    for (const YamlEntry* entry : entries(name)) {
      places_[path] = {.line = entry->line};
      if (entry->value.kind == YamlNode::Kind::refused) continue;
      const std::string problem = value.read(entry->value);
      if (problem.empty()) continue;
      unread_.insert(path);
      report_.at_line(entry->line, path, problem);
    }
    for (const Override& given : overrides_) {
      if (given.path != path) continue;
      places_[path] = {.given = &given};
      const std::string problem = value.read(given.value);
      if (problem.empty()) continue;
      unread_.insert(path);
      report_.at_override(given.argument, problem);
    }
  }

  bool begin_section(std::string_view name, std::string_view, bool) override {
    const std::string path = path_of(name);
    known_.add(path, true);
    Level level{path + ".", {}};
    for (const YamlEntry* entry : entries(name)) {
      places_[path] = {.line = entry->line};
      if (entry->value.kind == YamlNode::Kind::map)
        level.maps.push_back(&entry->value);
      else
        report_no_section(*entry, path);
    }
    levels_.push_back(std::move(level));
    return true;
  }

  void end_section() override { levels_.pop_back(); }

 private:
  // A section being read. A section given twice (which is an error) has two maps, and the mistakes of both are shown.
  struct Level {
    std::string prefix;
    std::vector<const YamlNode*> maps;
  };
  // Where the value of a key was given last.
  struct Place {
    int line = 0;
    const Override* given = nullptr;
  };

  const YamlNode& root_;
  const std::vector<Override>& overrides_;
  ProblemReport& report_;
  std::vector<Level> levels_;
  KnownKeys known_;
  std::map<std::string, Place> places_;
  std::set<std::string> unread_;  // keys and sections that were given something, and whose value is not known
  std::size_t unknown_count_ = 0;

  std::string path_of(std::string_view name) const { return levels_.back().prefix + std::string(name); }

  std::vector<const YamlEntry*> entries(std::string_view name) const {
    std::vector<const YamlEntry*> found;
    for (const YamlNode* map : levels_.back().maps) {
      for (const YamlEntry& entry : map->entries) {
        if (entry.key == name) found.push_back(&entry);
      }
    }
    return found;
  }

  // The section at the top level that a key or section is in, or is; "" for a key that is in none.
  std::string top_section(const std::string& path) const {
    const std::string top = path.substr(0, path.find('.'));
    return known_.is_section(top) ? top : "";
  }

  std::string message_for(const UnknownKey& unknown) {
    unread_.insert(unknown.meant.begin(), unknown.meant.end());
    return unknown.message;
  }

  void report_no_section(const YamlEntry& entry, const std::string& path) {
    unread_.insert(path);
    constexpr std::string_view kAllowed = "allowed: keys, indented below it, or {} for the defaults";
    switch (entry.value.kind) {
      case YamlNode::Kind::refused:
        break;
      case YamlNode::Kind::empty:
        report_.at_line(entry.line, path, fmt::format("empty section; {}", kAllowed));
        break;
      case YamlNode::Kind::list:
        report_.at_line(entry.line, path, fmt::format("a list, where a section is expected; {}", kAllowed));
        break;
      case YamlNode::Kind::null:
        report_.at_line(entry.line, path, fmt::format("null, where a section is expected; {}", kAllowed));
        break;
      default:
        report_.at_line(entry.line, path,
                        fmt::format("{}, where a section is expected; {}", in_quotes(entry.value.text), kAllowed));
    }
  }

  void report_unknown_in(const YamlNode& map, const std::string& section) {
    for (const YamlEntry& entry : map.entries) {
      const std::string path = section.empty() ? entry.key : section + "." + entry.key;
      const bool has_dot = entry.key.find('.') != std::string::npos;
      if (!has_dot && known_.is_section(path)) {
        report_unknown_in(entry.value, path);
      } else if (has_dot || !known_.is_key(path)) {
        // In the order of the file, so that what comes later than this would not be shown, and need not be worked out.
        const bool shown = ++unknown_count_ <= ProblemReport::kShown;
        report_.at_line(entry.line, path, shown ? message_for(known_.unknown(section, entry.key)) : "unknown key");
      }
    }
  }

  std::string unknown_override(const std::string& path) {
    const auto [section, leaf] = split_leaf(path);
    if (const std::string known = known_.known_part(section); known_.is_key(known)) {
      return message_for({fmt::format("'{}' is one value, not a section", known), {known}});
    }
    return message_for(known_.unknown(section, leaf));
  }
};

bool is_usable_root(const YamlNode& root, ProblemReport& report) {
  switch (root.kind) {
    case YamlNode::Kind::map:
      return true;
    case YamlNode::Kind::empty:
      report.at_source("empty; a config has at least one key ({} stands for all defaults)");
      return false;
    case YamlNode::Kind::refused:
      return false;
    default:
      report.at_line(root.line, "", "a config is made of 'key: value' lines, not of one value or a list");
      return false;
  }
}

}  // namespace

namespace detail {

void read_config(const std::string& text, const std::string& source, const std::vector<std::string>& overrides,
                 const std::function<void(Schema&)>& keys, const std::function<void(Problems&)>& finish) {
  ProblemReport report(source);
  const std::vector<Override> given = parse_overrides(overrides, report);
  const std::optional<YamlNode> root = parse_yaml(text, report);
  // Without the file's keys the overrides are still worth checking.
  const YamlNode nothing{.kind = YamlNode::Kind::map, .entries = {}};
  const bool usable = root && is_usable_root(*root, report);
  const bool all_is_read = report.empty();
  if (root) report_duplicates(*root, report);
  report_repeated(given, report);
  ConfigReader reader(usable ? *root : nothing, given, report);
  keys(reader);
  reader.report_unknown();
  if (all_is_read) {
    Problems problems;
    finish(problems);
    for (const Problems::Problem& problem : problems.all()) {
      if (reader.is_certain(problem)) reader.report_at_place(problem);
    }
  }
  report.throw_if_any();
}

}  // namespace detail
}  // namespace skipless
