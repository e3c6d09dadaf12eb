// "key.path=value" arguments of the command line.
#pragma once

#include <string>
#include <vector>

#include "configs/problem_report.h"
#include "configs/yaml_node.h"

namespace skipless {

struct Override {
  std::string argument;  // as given
  std::string path;
  YamlNode value;
};

/// A value that begins with '[', '{' or a quote is YAML; any other is taken literally, so that nothing of "*.py" or
/// "a # b" is lost. Malformed arguments are reported and left out.
std::vector<Override> parse_overrides(const std::vector<std::string>& arguments, ProblemReport& report);

/// Overrides of a key that an earlier one gives already.
void report_repeated(const std::vector<Override>& overrides, ProblemReport& report);

}  // namespace skipless
