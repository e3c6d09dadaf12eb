// Cross-entropy over the vocabulary, as a sum and a count: means are taken by whoever knows all the tokens of a step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace skipless {

/// A target that no loss counts (padding by position, never by token id).
inline constexpr int64_t kIgnoredTarget = -100;

struct TokenLoss {
  at::Tensor sum;    // scalar, nats; 0 with a zero gradient when nothing is counted
  at::Tensor count;  // scalar int64, on the device: reading it synchronises
};

/// sum = -sum_n log softmax(h_n W^T + b)[target_n] over the targets that count. hidden h [N, D]; matrix W [V, D], of
/// which rows from vocab_size on have the logit -inf; targets [N] int64 in 0..vocab_size-1 or kIgnoredTarget; bias b
/// [V], undefined: none.
///
/// Works through chunks of loss_chunk_rows() positions and never holds all the logits. Where a gradient is wanted it is
/// computed with the loss, chunk by chunk, so that no product is done twice; backward() only scales it. Hence backward
/// may run once, and there is no second derivative. Under autocast the products are done in its dtype, softmax and sums
/// in float32.
TokenLoss token_loss(const at::Tensor& hidden, const at::Tensor& matrix, int64_t vocab_size, const at::Tensor& targets,
                     const at::Tensor& bias = {});

/// Positions whose logits stand in memory at the same time, twice over: for the softmax.
int64_t loss_chunk_rows(int64_t positions, int64_t vocabulary);

}  // namespace skipless
