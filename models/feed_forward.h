// MLP(x) = W_2 act(W_1 x), the second sub-block of every variant.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "models/transformer_config.h"

namespace skipless {

/// [.., d_model] -> [.., d_model] through d_ff. With geglu, W_1 gives d_ff values of which half gate the other half, so
/// W_2 reads d_ff / 2. Dropout ends it. The matrices start as init.feed_forward_in and _out say, biases at 0.
class FeedForwardImpl : public torch::nn::Module {
 public:
  explicit FeedForwardImpl(const TransformerConfig& config);
  torch::Tensor forward(const torch::Tensor& x);

  static int64_t n_parameters(const TransformerConfig& config);
  /// Those of its two matrices alone.
  static int64_t n_matrix_parameters(const TransformerConfig& config);

 private:
  Activation activation_;
  double leaky_slope_;
  double dropout_;
  torch::Tensor w_1_;  // [d_ff, d_model]
  torch::Tensor w_2_;  // [d_model, d_ff or d_ff / 2]
  torch::Tensor b_1_;  // [d_ff] or undefined
  torch::Tensor b_2_;  // [d_model] or undefined
};
TORCH_MODULE(FeedForward);

}  // namespace skipless
