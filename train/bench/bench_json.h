// What `skipless bench --json` prints: bench_table.h's figures, with the times of every round.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/bench/step_bench.h"

namespace skipless {

nlohmann::ordered_json bench_json(const std::vector<BenchResult>& results);
nlohmann::ordered_json profile_json(const std::vector<OpTime>& operations);

}  // namespace skipless
