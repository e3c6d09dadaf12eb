// What tables and JSON say of timed steps.
#pragma once

#include <vector>

#include "train/bench/step_bench.h"

namespace skipless {

/// The median over rounds of above / below.
double ratio_of(const std::vector<double>& above, const std::vector<double>& below);
/// The case called pre_ln, or null.
const BenchResult* reference_of(const std::vector<BenchResult>& results);
double tokens_per_second(const BenchResult& result);

}  // namespace skipless
