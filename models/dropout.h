// Dropout in its usual places.
#pragma once

#include <ATen/ops/dropout.h>

#include "configs/schema.h"

namespace skipless {

/// Probabilities with which values become 0 while training; the others grow by 1/(1 - p).
struct DropoutConfig {
  double embedding = 0;  // of the embedding sum
  double attention = 0;  // of the attention probabilities A, not of I or C
  double branch = 0;     // of each sub-block's output, before its gain

  bool is_on() const { return embedding > 0 || attention > 0 || branch > 0; }
  void keys(Schema& s);
};

/// x itself, and no random number drawn, where p is 0 or nothing is trained.
inline at::Tensor dropout(double p, bool is_training, const at::Tensor& x) {
  return is_training && p > 0 ? at::dropout(x, p, /*train=*/true) : x;
}

}  // namespace skipless
