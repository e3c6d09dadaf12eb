// The paper's Table 2: which nine numbers it has, and what they are (PAPER.md, section 4).
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace skipless {

/// A column: a score of a task. The mean of all nine is what the paper calls GLUE.
struct PaperNumber {
  std::string_view task;
  std::string_view score;    // as GlueScore::name
  std::string_view heading;  // "MNLI-m"
};
std::span<const PaperNumber> paper_numbers();

/// A row, in per cent.
struct PaperRow {
  std::string_view block;
  std::array<double, 9> values;  // as paper_numbers()
  double glue;                   // Table 1
  double deviation;
};
std::span<const PaperRow> paper_rows();

}  // namespace skipless
