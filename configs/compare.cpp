// What differs between two written configs: a run that is continued under another one names it.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "configs/config_file.h"
#include "configs/yaml_node.h"
#include "configs/yaml_text.h"

namespace skipless {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;  // path and value, in the order of the text

std::string shown(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::plain) return node.text;
  if (node.kind == YamlNode::Kind::quoted) return yaml_text(node.text);
  if (node.kind == YamlNode::Kind::map) return "{}";
  if (node.kind != YamlNode::Kind::list) return "null";
  std::string out = "[";
  for (const YamlNode& item : node.items) out += (out.size() > 1 ? ", " : "") + shown(item);
  return out + "]";
}

void collect(const YamlNode& node, const std::string& path, Values& values) {
  if (node.kind != YamlNode::Kind::map || (node.entries.empty() && !path.empty())) {
    values.emplace_back(path, shown(node));
    return;
  }
  for (const YamlEntry& entry : node.entries) {
    collect(entry.value, path.empty() ? entry.key : path + "." + entry.key, values);
  }
}

Values values_of(const std::string& yaml, std::string_view source) {
  ProblemReport report(source);
  const std::optional<YamlNode> root = parse_yaml(yaml, report);
  if (root) report_duplicates(*root, report);
  report.throw_if_any();
  Values values;
  collect(*root, "", values);
  return values;
}

}  // namespace

std::vector<ConfigDifference> compare_configs(const std::string& left_yaml, const std::string& right_yaml) {
  const Values left = values_of(left_yaml, "first config");
  const Values right = values_of(right_yaml, "second config");
  const std::map<std::string, std::string> in_left(left.begin(), left.end());
  const std::map<std::string, std::string> in_right(right.begin(), right.end());
  std::vector<ConfigDifference> differences;
  for (const auto& [path, value] : left) {
    const auto other = in_right.find(path);
    const std::string other_value(other == in_right.end() ? kAbsentKey : other->second);
    if (other_value != value) differences.push_back({path, value, other_value});
  }
  for (const auto& [path, value] : right) {
    if (!in_left.contains(path)) differences.push_back({path, std::string(kAbsentKey), value});
  }
  return differences;
}

}  // namespace skipless
