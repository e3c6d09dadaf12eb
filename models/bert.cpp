#include "models/bert.h"

#include <ATen/ops/linear.h>

namespace skipless {

MlmTransformImpl::MlmTransformImpl(const ModelConfig& config)
    // A gate would need twice the width; what geglu gates with is GELU.
    : activation_(config.activation == Activation::geglu ? Activation::gelu : config.activation),
      leaky_slope_(config.leaky_slope) {
  const int64_t d = config.d_model;
  w_ = register_parameter("w", initial_matrix(InitConfig{}, d, d, config.init_std));
  b_ = register_parameter("b", torch::zeros({d}));
  norm_ = register_module("norm", make_norm(NormKind::layer_norm, d, config.final_norm_eps));
}

torch::Tensor MlmTransformImpl::forward(const torch::Tensor& hidden) {
  return norm_->forward(activate(activation_, leaky_slope_, at::linear(hidden, w_, b_)));
}

int64_t MlmTransformImpl::n_parameters(int64_t d) {
  return d * d + d + n_norm_parameters(NormKind::layer_norm, d);
}

BertImpl::BertImpl(const ModelConfig& config) : TransformerImpl(config) {
  if (!config.tied_head) {
    head_ = register_parameter(
        "head", initial_matrix(config.init.embedding, config.n_embedding(), config.d_model, config.init_std));
  }
  if (config.mlm_head.transform) transform_ = register_module("mlm_transform", MlmTransform(config));
  if (config.mlm_head.bias) head_bias_ = register_parameter("head_bias", torch::zeros({config.n_embedding()}));
}

torch::Tensor BertImpl::predicting(const torch::Tensor& hidden, const Batch& batch) {
  auto x = hidden;
  if (batch.positions.defined()) {
    x = hidden.gather(1, batch.positions.unsqueeze(-1).expand({-1, -1, hidden.size(-1)}));
  }
  return transform_ ? transform_->forward(x) : x;
}

torch::Tensor BertImpl::logits(const torch::Tensor& hidden, const Batch& batch) {
  return at::linear(predicting(hidden, batch), output_matrix(), head_bias_).slice(-1, 0, config().vocab_size);
}

torch::Tensor BertImpl::forward(const Batch& batch) {
  return logits(final_hidden(batch), batch);
}

TokenLoss BertImpl::loss(const Batch& batch) {
  const auto x = predicting(final_hidden(batch), batch);  // [B, M or T, D]
  TORCH_CHECK(batch.labels.sizes() == x.sizes().slice(0, 2), "labels of ", batch.labels.sizes(), " for predictions of ",
              x.sizes().slice(0, 2));
  return token_loss(x.flatten(0, 1), output_matrix(), config().vocab_size, batch.labels.flatten(), head_bias_);
}

}  // namespace skipless
