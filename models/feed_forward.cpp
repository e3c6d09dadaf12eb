#include "models/feed_forward.h"

#include <ATen/ops/linear.h>

namespace skipless {

namespace {

int64_t activated_width(const TransformerConfig& config) {
  return config.activation == Activation::geglu ? *config.d_ff / 2 : *config.d_ff;
}

}  // namespace

FeedForwardImpl::FeedForwardImpl(const TransformerConfig& config)
    : activation_(config.activation), leaky_slope_(config.leaky_slope), dropout_(config.dropout.branch) {
  const int64_t d = config.d_model, d_ff = *config.d_ff;
  w_1_ = register_parameter("w_1", initial_matrix(config.init.feed_forward_in, d_ff, d, config.init_std));
  w_2_ = register_parameter("w_2", initial_matrix(config.init.feed_forward_out, d, activated_width(config),
                                                  config.init_std, config.init.output_scale(config.n_layer)));
  if (config.bias.feed_forward) {
    b_1_ = register_parameter("b_1", torch::zeros({d_ff}));
    b_2_ = register_parameter("b_2", torch::zeros({d}));
  }
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x) {
  const auto y = at::linear(activate(activation_, leaky_slope_, at::linear(x, w_1_, b_1_)), w_2_, b_2_);
  return dropout(dropout_, is_training(), y);
}

int64_t FeedForwardImpl::n_matrix_parameters(const TransformerConfig& config) {
  return config.d_model * (*config.d_ff + activated_width(config));
}

int64_t FeedForwardImpl::n_parameters(const TransformerConfig& config) {
  return n_matrix_parameters(config) + (config.bias.feed_forward ? *config.d_ff + config.d_model : 0);
}

}  // namespace skipless
