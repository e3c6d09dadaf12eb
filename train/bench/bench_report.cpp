#include "train/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "train/grouped.h"
#include "train/quartiles.h"

namespace skipless {

using nlohmann::ordered_json;

namespace {

/// The median over rounds of above / below.
double ratio_of(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(above.size(), below.size()); ++i) ratios.push_back(above[i] / below[i]);
  return quartiles_of(std::move(ratios)).median;
}

const BenchResult* reference_of(const std::vector<BenchResult>& results) {
  const auto found =
      std::find_if(results.begin(), results.end(), [](const BenchResult& result) { return result.name == "pre_ln"; });
  return found == results.end() ? nullptr : &*found;
}

double tokens_per_second(const BenchResult& result) {
  return 1000 * static_cast<double>(result.tokens) / quartiles_of(result.step).median;
}

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

ordered_json bench_json(const std::vector<BenchResult>& results) {
  const auto* const reference = reference_of(results);
  ordered_json json = ordered_json::array();
  for (const auto& result : results) {
    ordered_json row = {{"block", result.name},
                        {"tokens_per_step", result.tokens},
                        {"tokens_per_second", tokens_per_second(result)},
                        {"step_ms", result.step},
                        {"floor_ms", result.floor},
                        {"floor_by", result.floor_by},
                        {"floor_flops", result.floor_flops},
                        {"share_of_floor", ratio_of(result.floor, result.step)},
                        {"peak_bytes", result.peak_bytes},
                        {"parameters", result.parameters}};
    if (reference != nullptr) row["speed_over_pre_ln"] = ratio_of(reference->step, result.step);
    json.push_back(std::move(row));
  }
  return json;
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

ordered_json profile_json(const std::vector<OpTime>& operations) {
  ordered_json json = ordered_json::array();
  for (const auto& op : operations) {
    json.push_back({{"section", op.section}, {"operation", op.name}, {"ms", op.milliseconds}, {"calls", op.calls}});
  }
  return json;
}

}  // namespace skipless
