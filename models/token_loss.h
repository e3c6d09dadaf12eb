// Cross-entropy over token targets, as a sum and a count: means are taken by whoever knows all the tokens of a step.
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// A target that no loss counts (padding by position, never by token id).
inline constexpr int64_t kIgnoredTarget = -100;

struct TokenLoss {
  at::Tensor sum;    // scalar, nats; 0 with a zero gradient when nothing is counted
  at::Tensor count;  // scalar int64, on the device: reading it synchronises
};

/// logits [N, V], targets [N] int64 in 0..V-1 or kIgnoredTarget.
TokenLoss token_loss(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace skipless
