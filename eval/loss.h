// The loss of a language model, causal or masked, on a fixed list of chunks.
#pragma once

#include <c10/core/Device.h>

#include <cmath>
#include <cstdint>

#include "data/chunk_batches.h"
#include "data/masking.h"
#include "models/transformer.h"

namespace skipless {

struct LossResult {
  double sum = 0;  // cross-entropy of all predicted tokens, nats
  int64_t tokens = 0;

  double loss() const { return sum / static_cast<double>(tokens); }
  /// exp of the mean over all predicted tokens, never a mean of exps.
  double perplexity() const { return std::exp(loss()); }
};

/// Each token weighs the same whatever the batch size, and the last, shorter batch counts. `model` lies on `device`;
/// it is put into evaluation mode for the time of the call. The host waits for the device once, at the end.
/// With a `masker` the masked tokens are predicted; chunk i of the list is masked as its item i, whatever the batch
/// size.
LossResult evaluate_loss(TransformerImpl& model, const EvaluationBatches& batches, at::Device device,
                         const TokenMasker* masker = nullptr);

}  // namespace skipless
