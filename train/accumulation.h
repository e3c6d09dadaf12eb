// The gradient of one optimizer step from several micro-batches, each token weighing the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "models/token_loss.h"

namespace skipless {

/// Clears the gradients of `parameters`, then runs `micro_batch` 0..n-1 and backward through the SUM of each one's
/// token losses. Afterwards .grad() holds the gradient of the sum over all tokens of the step; divided by the returned
/// count it is the gradient of the mean over tokens, however they are spread over the micro-batches. Both results are
/// scalars without a graph, on the device. `factor`: a scalar that each sum is multiplied with on its way back, so that
/// the gradients are `factor` times as large; undefined: 1.
TokenLoss accumulate_gradients(const std::vector<at::Tensor>& parameters, int64_t n_micro_batches,
                               const std::function<TokenLoss(int64_t)>& micro_batch, const at::Tensor& factor = {});

/// The defined gradients of `parameters`.
std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters);

}  // namespace skipless
