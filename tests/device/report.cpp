#include "report.h"

#include <fmt/format.h>

#include <cstdio>

namespace skipless::device {

void Report::line(const std::string& text) const {
  fmt::print("{}\n", text);
  std::fflush(stdout);  // a section that is stopped has said what it did
}

void Report::require(bool holds, const std::string& what) {
  if (!holds) ++n_failed_;
  line(fmt::format("- {}: {}", holds ? "passed" : "**FAILED**", what));
}

void Report::table() const {
  line("");
  line("| | values | compared | largest difference | bound | |");
  line("|---|---|---:|---:|---:|---|");
}

void Report::compared(const std::string& what, const parity::Comparison& comparison) {
  for (const auto& measure : comparison.measures()) {
    line(fmt::format("| {} | {} | {} | {:.1e} | {:.0e} | {} |", what, measure.kind, measure.compared,
                     measure.difference, measure.bound, measure.within() ? "" : "**OUTSIDE**: " + measure.worst));
  }
  for (const auto& problem : comparison.problems()) line(fmt::format("| {} | | | | | **{}** |", what, problem));
  if (!comparison.passed()) ++n_failed_;
}

}  // namespace skipless::device
