#include "configs/problem_report.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "configs/error.h"
#include "configs/printable.h"

namespace skipless {
namespace {

constexpr std::size_t kLongestSource = 300;

std::string with_path(std::string_view path, std::string_view message) {
  return path.empty() ? std::string(message) : fmt::format("{}: {}", printable(path), message);
}

}  // namespace

ProblemReport::ProblemReport(std::string_view source) : source_(printable(source, kLongestSource)) {}

void ProblemReport::at_line(int line, std::string_view path, std::string_view message) {
  entries_.push_back({Origin::file, line, fmt::format("{}:{}: {}", source_, line, with_path(path, message))});
}

void ProblemReport::at_column(int line, int column, std::string_view message) {
  entries_.push_back({Origin::file, line, fmt::format("{}:{}:{}: {}", source_, line, column, message)});
}

void ProblemReport::at_source(std::string_view message) {
  entries_.push_back({Origin::file, 0, fmt::format("{}: {}", source_, message)});
}

void ProblemReport::at_override(std::string_view argument, std::string_view message) {
  entries_.push_back({Origin::command_line, 0, fmt::format("command line: {}: {}", in_quotes(argument), message)});
}

void ProblemReport::at_default(std::string_view path, std::string_view message) {
  entries_.push_back({Origin::defaults, 0, "default: " + with_path(path, message)});
}

void ProblemReport::throw_if_any() const {
  if (entries_.empty()) return;
  if (entries_.size() == 1) throw UserError(entries_[0].text);
  std::vector<Entry> sorted = entries_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.origin, a.line) < std::tie(b.origin, b.line);
  });
  std::string text = fmt::format("{} problems:", sorted.size());
  for (std::size_t i = 0; i < std::min(sorted.size(), kShown); ++i) text += "\n  " + sorted[i].text;
  if (sorted.size() > kShown) text += fmt::format("\n  and {} more", sorted.size() - kShown);
  throw UserError(text);
}

}  // namespace skipless
