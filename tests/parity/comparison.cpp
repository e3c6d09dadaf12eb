#include "comparison.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <limits>

namespace skipless::parity {

double largest(const at::Tensor& x) {
  return x.numel() == 0 ? 0 : x.detach().to(at::kDouble).abs().max().item<double>();
}

double euclidean(const at::Tensor& x) {
  return x.detach().to(at::kDouble).norm().item<double>();
}

void Comparison::add(const std::string& kind, const std::string& name, const at::Tensor& ours, const at::Tensor& theirs,
                     double scale, double bound, double (*size)(const at::Tensor&)) {
  auto found = std::find_if(measures_.begin(), measures_.end(), [&](const auto& m) { return m.kind == kind; });
  if (found == measures_.end()) found = measures_.insert(found, {.kind = kind, .bound = bound});
  double difference = std::numeric_limits<double>::infinity();
  if (ours.sizes() == theirs.sizes()) {
    const double absolute = size(ours.detach().to(at::kDouble) - theirs.to(at::kDouble));
    // Where the scale is 0 too, equal is equal. A NaN is below nothing, and so stays beyond.
    if (absolute == 0) {
      difference = 0;
    } else if (absolute / scale < difference) {
      difference = absolute / scale;
    }
  }
  ++found->compared;
  if (found->worst.empty() || difference > found->difference) {
    found->difference = difference;
    found->worst = name;
  }
}

bool Comparison::passed() const {
  return problems_.empty() && !measures_.empty() &&
         std::all_of(measures_.begin(), measures_.end(), [](const auto& m) { return m.within(); });
}

}  // namespace skipless::parity
