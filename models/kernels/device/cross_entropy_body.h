// The formulas of cross_entropy_kernel.h for one row.
#pragma once

#include <cmath>
#include <limits>

#include "models/kernels/cross_entropy_kernel.h"
#include "models/kernels/device/values.h"

namespace skipless::kernels {

/// max(l) and sum(exp(l - max)) of the values so far, in one pass. The start is finite, so that a logit of -inf has
/// exp(-inf) = 0 and not NaN.
struct RunningSum {
  float most = std::numeric_limits<float>::lowest();
  float sum = 0;

  SKIPLESS_DEVICE void add(float x) {
    if (x > most) {
      sum = sum * std::exp(most - x) + 1;
      most = x;
    } else {
      sum += std::exp(x - most);
    }
  }
};

/// The row's loss, known to all lanes; its gradient times `gradient_scale` over the logits where one is wanted, written
/// once all lanes have read them: `lanes` whose sum() is a barrier, or a single one. A target beyond the vocabulary
/// gives NaN.
template <class Lanes, class Logit>
SKIPLESS_DEVICE float cross_entropy_row(const Lanes& lanes, const LogitShape& shape, Logit* logits, int64_t target,
                                        float gradient_scale) {
  const bool packed = are_packed(logits);
  if (target < 0) {
    if (shape.wants_gradient) {
      for_values(lanes, shape.columns, packed, [&](auto n, int64_t j) { store(n, {0.0F}, logits + j); });
    }
    return 0;
  }
  const float of_target = target < shape.vocab_size ? static_cast<float>(logits[target]) : NAN;
  RunningSum running;
  for_values(lanes, shape.vocab_size, packed, [&](auto n, int64_t j) {
    const auto values = load(n, logits + j);
    for (const float x : values.of) running.add(x);
  });
  const float most = lanes.largest(running.most);
  const float sum = lanes.sum(running.sum * std::exp(running.most - most));
  if (shape.wants_gradient) {
    const float scale = gradient_scale / sum;
    for_values(lanes, shape.columns, packed, [&](auto n, int64_t j) {
      auto gradient = load(n, logits + j).map([&](float x) { return std::exp(x - most) * scale; });
      for (int k = 0; k < decltype(n)::value; ++k) {
        if (j + k == target) gradient.of[k] -= gradient_scale;
        if (j + k >= shape.vocab_size) gradient.of[k] = 0;
      }
      store(n, gradient, logits + j);
    });
  }
  return most + std::log(sum) - of_target;
}

}  // namespace skipless::kernels
