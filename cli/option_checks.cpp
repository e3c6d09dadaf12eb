#include "cli/option_checks.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "configs/numbers.h"
#include "configs/printable.h"

namespace skipless {

namespace {

std::string refusal(const std::string& text, const std::string& problem, const std::string& allowed) {
  return fmt::format("{} {}; allowed: {}", in_quotes(text), problem.empty() ? "is out of range" : problem, allowed);
}

}  // namespace

CLI::Validator integer_between(std::int64_t low, std::int64_t high) {
  return CLI::Validator(
      [=](const std::string& text) {
        std::int64_t value = 0;
        const std::string problem = parse_integer(text, value);
        if (problem.empty() && value >= low && value <= high) return std::string();
        return refusal(text, problem,
                       high == std::numeric_limits<std::int64_t>::max()
                           ? fmt::format("an integer from {} on", low)
                           : fmt::format("an integer from {} to {}", low, high));
      },
      "");
}

CLI::Validator number_between(double low, double high) {
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        const std::string problem = parse_number(text, value);
        if (problem.empty() && value >= low && value <= high) return std::string();
        return refusal(text, problem, fmt::format("a number from {} to {}", low, high));
      },
      "");
}

}  // namespace skipless
