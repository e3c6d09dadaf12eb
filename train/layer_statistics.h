// What goes on inside a model, layer by layer, as the fields of a line of metrics.jsonl. Nothing here changes a
// training run: the values of parameters, gradients and generators of random numbers are as before, to the last bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json_fwd.hpp>

#include "models/transformer.h"

namespace skipless {

/// A forward pass over the batch in evaluation mode, without gradients, of which padding counts for nothing. Numbers
/// have seven digits.
///   rms, kurtosis  of X, the embeddings ("embedding") and the output of each block ("block_0"), over all their
///                  elements x: sqrt(mean x^2), and mean (x - m)^4 / (mean (x - m)^2)^2 with m = mean x (3 for a
///                  normal distribution)
///   entropy        of each block's attention, a number for each head: the mean over sequences and rows i of
///                  -sum_j A_ij ln A_ij (0 ln 0 = 0), in nats; at most, where A = C, mean_i ln(i + 1) in a causal
///                  model and the mean of ln(length) in an encoder
nlohmann::json activation_statistics(TransformerImpl& model, const Batch& batch);

/// sqrt(sum g^2) of the parameters' gradients divided by `factor`, over all that is called "block_0" and so on, and
/// over each part of it, "block_0.attention". A name without a gradient is not there.
nlohmann::json gradient_norms(const TransformerImpl& model, double factor);

/// Every gain by its name, "block_0.attention.shape.alpha": a number, or a list of one for each head.
nlohmann::json gains(const TransformerImpl& model);

/// What changes from step to step without being trained, where there is any:
///   lambda      of each block's identity start (identity_start.h), as at the last step
///   branch_rms  of each gain under feedback (branch_gain.h): the rms of its branch, as it is added, at the last step
nlohmann::json followed(const TransformerImpl& model);

}  // namespace skipless
