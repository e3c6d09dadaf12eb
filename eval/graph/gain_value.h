// What a gain is at the moment.
#pragma once

#include <string>

#include "eval/graph/leaves.h"

namespace skipless {

/// A number, or one for each head.
struct GainValue {
  std::string name;  // "beta_sa"; of a number that stands in the code, empty
  double smallest = 0, largest = 0;
  std::string state;  // "trained", "fixed", "by feedback", "by schedule" or, of a number in the code, "constant"
};

/// `name`: that of its value; "beta_sa.value" is called "beta_sa".
GainValue gain_value(const std::string& name, const Leaf& leaf);

}  // namespace skipless
