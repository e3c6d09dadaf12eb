#include "models/batch.h"

#include <algorithm>

namespace skipless {

namespace {

/// The same of every tensor that there is.
template <class Change>
Batch changed(const Batch& batch, const Change& change) {
  const auto of = [&](const at::Tensor& tensor) { return tensor.defined() ? change(tensor) : tensor; };
  return {.ids = of(batch.ids),
          .labels = of(batch.labels),
          .kept = of(batch.kept),
          .token_types = of(batch.token_types),
          .positions = of(batch.positions)};
}

}  // namespace

std::vector<Batch> Batch::split(int64_t sequences) const {
  std::vector<Batch> parts;
  for (int64_t first = 0; first < this->sequences(); first += sequences) {
    const int64_t end = std::min(first + sequences, this->sequences());
    parts.push_back(changed(*this, [&](const at::Tensor& tensor) { return tensor.slice(0, first, end); }));
  }
  return parts;
}

Batch Batch::to(c10::Device device) const {
  return changed(*this, [&](const at::Tensor& tensor) { return tensor.to(device, /*non_blocking=*/true); });
}

}  // namespace skipless
