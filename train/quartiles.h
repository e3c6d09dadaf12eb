// The middle of some values, and how far they spread.
#pragma once

#include <vector>

namespace skipless {

/// By linear interpolation between the sorted values; NaN of none.
struct Quartiles {
  double low = 0, median = 0, high = 0;
};
Quartiles quartiles_of(std::vector<double> values);

}  // namespace skipless
