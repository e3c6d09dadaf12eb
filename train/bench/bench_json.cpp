#include "train/bench/bench_json.h"

#include <nlohmann/json.hpp>

#include "train/bench/bench_figures.h"

namespace skipless {

using nlohmann::ordered_json;

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

ordered_json profile_json(const std::vector<OpTime>& operations) {
  ordered_json json = ordered_json::array();
  for (const auto& op : operations) {
    json.push_back({{"section", op.section}, {"operation", op.name}, {"ms", op.milliseconds}, {"calls", op.calls}});
  }
  return json;
}

}  // namespace skipless
