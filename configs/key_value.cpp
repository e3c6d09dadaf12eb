#include "configs/key_value.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/nearest.h"
#include "configs/numbers.h"
#include "configs/printable.h"
#include "configs/yaml_text.h"

namespace skipless {
namespace {

std::string shown(int64_t value) {
  return std::to_string(value);
}
std::string shown(double value) {
  return number_text(value);
}

// "an integer from 1 to 128", "a number above 0"
template <class T>
std::string with_range(std::string_view type, const Range<T>& range) {
  const bool below_is_free = range.low == std::numeric_limits<T>::lowest();
  const bool above_is_free = range.high == std::numeric_limits<T>::max();
  if (below_is_free && above_is_free) return std::string(type);
  const std::string low = below_is_free ? "" : (range.low_open ? " above " : " at least ") + shown(range.low);
  const std::string high = above_is_free ? "" : (range.high_open ? " below " : " at most ") + shown(range.high);
  if (low.empty() || high.empty()) return std::string(type) + low + high;
  if (range.low_open || range.high_open) return std::string(type) + low + " and" + high;
  return fmt::format("{} from {} to {}", type, shown(range.low), shown(range.high));
}

std::string problem_of(const YamlNode& node, std::string_view what, const std::string& allowed) {
  return fmt::format("{} {}; allowed: {}", in_quotes(node.text), what, allowed);
}

template <class T, class Parse>
std::string parse_within(const YamlNode& node, const Range<T>& range, const std::string& allowed, Parse&& parse,
                         T& value) {
  if (node.kind == YamlNode::Kind::list) return "a list, where one value is expected; allowed: " + allowed;
  if (node.kind == YamlNode::Kind::quoted) return problem_of(node, "is text, as it stands in quotes", allowed);
  T parsed{};
  const std::string problem = parse(node.text, parsed);
  if (!problem.empty()) return problem_of(node, problem, allowed);
  if (!range.contains(parsed)) return problem_of(node, "is out of range", allowed);
  value = parsed;
  return "";
}

}  // namespace

std::string unusable(const YamlNode& node, const std::string& allowed) {
  switch (node.kind) {
    case YamlNode::Kind::empty:
      return "empty; allowed: " + allowed;
    case YamlNode::Kind::null:
      return "null, but this key always has a value; allowed: " + allowed;
    case YamlNode::Kind::map:
      return "a section, where one value is expected; allowed: " + allowed;
    default:
      return "";
  }
}

std::string BoolType::allowed() const {
  return "true or false";
}

std::string BoolType::parse(const YamlNode& node, const std::string& allowed, bool& value) const {
  if (node.kind == YamlNode::Kind::list) return "a list, where one value is expected; allowed: " + allowed;
  if (node.kind == YamlNode::Kind::quoted) return problem_of(node, "is text, as it stands in quotes", allowed);
  if (node.text != "true" && node.text != "false") return problem_of(node, "is not a truth value", allowed);
  value = node.text == "true";
  return "";
}

std::string IntegerType::allowed() const {
  return with_range("an integer", range);
}

std::string IntegerType::parse(const YamlNode& node, const std::string& allowed, int64_t& value) const {
  return parse_within(node, range, allowed, parse_integer, value);
}

std::string NumberType::allowed() const {
  return with_range("a number", range);
}

std::string NumberType::parse(const YamlNode& node, const std::string& allowed, double& value) const {
  return parse_within(node, range, allowed, parse_number, value);
}

std::string NumberType::text(double value) const {
  return number_text(value);
}

std::string TextType::allowed() const {
  return "text";
}

std::string TextType::parse(const YamlNode& node, const std::string& allowed, std::string& value) const {
  if (node.kind == YamlNode::Kind::list) return "a list, where one value is expected; allowed: " + allowed;
  value = node.text;
  return "";
}

std::string TextType::text(const std::string& value) const {
  return yaml_text(value);
}

std::string NameType::allowed() const {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string NameType::parse(const YamlNode& node, const std::string& allowed, std::string& value) const {
  if (node.kind == YamlNode::Kind::list) return "a list, where one value is expected; allowed: " + allowed;
  if (std::find(names.begin(), names.end(), node.text) == names.end()) {
    return fmt::format("unknown {} {}{}; allowed: {}", key, in_quotes(node.text), did_you_mean(node.text, names),
                       allowed);
  }
  value = node.text;
  return "";
}

std::string NameType::text(const std::string& value) const {
  return yaml_text(value);
}

std::string TextListType::allowed() const {
  return "a list of texts, as [a, b]";
}

std::string TextListType::parse(const YamlNode& node, const std::string& allowed,
                                std::vector<std::string>& value) const {
  if (node.kind != YamlNode::Kind::list) return problem_of(node, "is not a list", allowed);
  std::vector<std::string> texts;
  for (const YamlNode& item : node.items) {
    const std::string place = fmt::format("item {} (line {})", texts.size() + 1, item.line);
    if (item.kind == YamlNode::Kind::empty) return place + " is empty; allowed: " + allowed;
    if (item.kind == YamlNode::Kind::null) return place + " is null; allowed: " + allowed;
    if (!item.is_text() && item.kind != YamlNode::Kind::refused) return place + " is not text; allowed: " + allowed;
    texts.push_back(item.text);
  }
  value = std::move(texts);
  return "";
}

std::string TextListType::text(const std::vector<std::string>& value) const {
  return yaml_list(value);
}

}  // namespace skipless
