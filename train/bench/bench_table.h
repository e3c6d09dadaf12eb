// What `skipless bench` prints.
#pragma once

#include <string>
#include <vector>

#include "train/bench/step_bench.h"

namespace skipless {

/// A table: tokens/s, ms/step with quartiles over rounds, speed as a ratio to the case called pre_ln (where there is
/// one) and as a share of the floor's, peak memory, parameters. Ratios are medians over rounds.
std::string bench_table(const std::vector<BenchResult>& results);

/// The operations of one step, by section, each with its share of the whole; what takes less than a hundredth of it is
/// added up.
std::string profile_table(const std::string& name, const std::vector<OpTime>& operations);

}  // namespace skipless
