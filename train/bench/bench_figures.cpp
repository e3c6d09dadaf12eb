#include "train/bench/bench_figures.h"

#include <algorithm>

#include "train/quartiles.h"

namespace skipless {

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

}  // namespace skipless
