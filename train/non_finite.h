// Where a number that is not finite comes from.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "models/transformer.h"
#include "train/precision.h"

namespace skipless {

/// Repeats forward and backward on `batch`, `micro_batch` sequences at a time, in `precision` and with
/// `factor` on the loss (accumulation.h), and names the first tensor that holds a NaN or an infinity: parameters in
/// their order, then activations from the embedding on, the loss, and gradients from the last layer back. "" if there
/// is none.
std::string first_non_finite(TransformerImpl& model, const Batch& batch, int64_t micro_batch,
                             Precision precision = Precision::fp32, const at::Tensor& factor = {});

/// The first parameter that holds one; "" if there is none.
std::string first_non_finite_parameter(const torch::nn::Module& module);

/// RunError, naming that parameter, when the `loss` of the model is not finite.
void require_finite_loss(double loss, const torch::nn::Module& module);

}  // namespace skipless
