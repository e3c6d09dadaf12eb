#include "train/bench/bench_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "train/bench/bench_figures.h"
#include "train/grouped.h"
#include "train/quartiles.h"

namespace skipless {

namespace {

double mebibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

std::string bench_table(const std::vector<BenchResult>& results) {
  const auto* const reference = reference_of(results);
  std::string text = fmt::format("{:<20}{:>10}{:>10}{:>20}{:>10}{:>10}{:>10}{:>12}\n", "block", "tokens/s", "ms/step",
                                 "quartiles", "/ pre_ln", "of floor", "peak MiB", "parameters");
  for (const auto& result : results) {
    const auto step = quartiles_of(result.step);
    text += fmt::format("{:<20}{:>10}{:>10.1f}{:>20}{:>10}{:>10.3f}{:>10.0f}{:>12}\n", result.name,
                        grouped(tokens_per_second(result)), step.median,
                        fmt::format("{:.1f} - {:.1f}", step.low, step.high),
                        reference == nullptr ? "-" : fmt::format("{:.3f}", ratio_of(reference->step, result.step)),
                        ratio_of(result.floor, result.step), mebibytes(result.peak_bytes), result.parameters);
  }
  for (const auto& result : results) {
    const auto floor = quartiles_of(result.floor);
    text +=
        fmt::format("floor of {}: {:.1f} ms ({:.1f} - {:.1f}) of matrix products by {}, {:.0f} GFLOP/s\n", result.name,
                    floor.median, floor.low, floor.high, result.floor_by, result.floor_flops / floor.median / 1e6);
  }
  return text;
}

std::string profile_table(const std::string& name, const std::vector<OpTime>& operations) {
  double whole = 0;
  std::vector<std::string> sections;
  for (const auto& op : operations) {
    whole += op.milliseconds;
    if (std::find(sections.begin(), sections.end(), op.section) == sections.end()) sections.push_back(op.section);
  }
  std::string text = fmt::format("{}: one step, {:.1f} ms, operation by operation\n", name, whole);
  const auto line = [&](const std::string& what, double milliseconds, int64_t calls) {
    text += fmt::format("{:<56}{:>10.2f} ms{:>7.1f} %{:>8}\n", what, milliseconds, 100 * milliseconds / whole, calls);
  };
  for (const auto& section : sections) {
    double sum = 0, rest = 0;
    int64_t calls = 0, rest_calls = 0;
    for (const auto& op : operations) {
      if (op.section != section) continue;
      sum += op.milliseconds;
      calls += op.calls;
    }
    line(section.empty() ? "outside" : section, sum, calls);
    for (const auto& op : operations) {
      if (op.section != section) continue;
      if (op.milliseconds >= whole / 100) {
        line("  " + op.name, op.milliseconds, op.calls);
      } else {
        rest += op.milliseconds;
        rest_calls += op.calls;
      }
    }
    if (rest_calls > 0) line("  what takes less than 1 %", rest, rest_calls);
  }
  return text;
}

}  // namespace skipless
