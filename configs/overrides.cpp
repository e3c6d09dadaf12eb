#include "configs/overrides.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "configs/error.h"
#include "configs/printable.h"
#include "configs/utf8.h"

namespace skipless {
namespace {

constexpr std::string_view kForm = "an override has the form key.path=value";

// What is wrong with a path, or "".
std::string problem_of_path(std::string_view path) {
  if (path.empty()) return fmt::format("no key before '='; {}", kForm);
  if (path.find_first_of(" \t\r\n") != std::string_view::npos) return fmt::format("a blank in the key; {}", kForm);
  if (path.front() == '.' || path.back() == '.' || path.find("..") != std::string_view::npos) {
    return fmt::format("a '.' with no name beside it; {}", kForm);
  }
  return "";
}

// What is wrong with a value, or "".
std::string parse_value(std::string_view text, YamlNode& value) {
  if (text.empty())
    return R"(no value after '='; an empty text is written '=""', an optional key is emptied by '=null')";
  if (find_invalid_utf8(text)) return "not valid UTF-8";
  if (text.find('\0') != std::string_view::npos) return "a NUL character";
  const bool is_yaml = text.find_first_of("[{\"'") == 0;
  if (!is_yaml) {
    value = {.kind = is_null_text(text) ? YamlNode::Kind::null : YamlNode::Kind::plain,
             .text = std::string(text),
             .entries = {}};
    return "";
  }
  ProblemReport report("value");
  std::optional<YamlNode> parsed = parse_yaml(text, report);
  try {
    report.throw_if_any();
  } catch (const UserError& error) {
    return error.what();
  }
  value = std::move(*parsed);
  return "";
}

}  // namespace

std::vector<Override> parse_overrides(const std::vector<std::string>& arguments, ProblemReport& report) {
  std::vector<Override> overrides;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      report.at_override(argument, fmt::format("no '='; {}", kForm));
      continue;
    }
    Override parsed{.argument = argument, .path = argument.substr(0, equals), .value = {}};
    std::string problem = problem_of_path(parsed.path);
    if (problem.empty()) problem = parse_value(std::string_view(argument).substr(equals + 1), parsed.value);
    if (problem.empty()) {
      overrides.push_back(std::move(parsed));
    } else {
      report.at_override(argument, problem);
    }
  }
  return overrides;
}

void report_repeated(const std::vector<Override>& overrides, ProblemReport& report) {
  std::map<std::string, std::string> first_for;  // by path
  for (const Override& given : overrides) {
    const auto [first, is_first] = first_for.try_emplace(given.path, given.argument);
    if (is_first) continue;
    report.at_override(given.argument, "repeated: the key is already given by " + in_quotes(first->second));
  }
}

}  // namespace skipless
