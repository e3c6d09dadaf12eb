#include "eval/graph/gain_value.h"

namespace skipless {

GainValue gain_value(const std::string& name, const Leaf& leaf) {
  const std::string value = ".value";
  const bool follows = leaf.gain != nullptr && leaf.gain->is_measured();
  return {.name = name.ends_with(value) ? name.substr(0, name.size() - value.size()) : name,
          .smallest = leaf.tensor.min().item<double>(),
          .largest = leaf.tensor.max().item<double>(),
          .state = leaf.is_trained ? "trained"
                   : follows       ? "by feedback"
                                   : "fixed"};
}

}  // namespace skipless
