#include "train/quartiles.h"

#include <algorithm>
#include <limits>

namespace skipless {

namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return (1 - share) * sorted[below] + share * sorted[above];
}

}  // namespace

Quartiles quartiles_of(std::vector<double> values) {
  if (values.empty()) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {.low = kNone, .median = kNone, .high = kNone};
  }
  std::sort(values.begin(), values.end());
  return {.low = quantile(values, 0.25), .median = quantile(values, 0.5), .high = quantile(values, 0.75)};
}

}  // namespace skipless
