#include "models/embedding.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/exp.h>

#include <cmath>

namespace skipless {

namespace {

torch::Tensor sinusoids(int64_t n_positions, int64_t d) {
  // In float64 and then rounded: at position 10^5 a float32 angle has lost its second decimal.
  const auto positions = at::arange(n_positions, torch::kFloat64).unsqueeze(1);
  const auto frequencies =
      at::exp(at::arange(0, d, 2, torch::kFloat64) * (-std::log(10000.0) / static_cast<double>(d)));
  const auto angles = positions * frequencies;
  auto table = torch::empty({n_positions, d}, torch::kFloat64);
  table.slice(1, 0, d, 2).copy_(angles.sin());
  table.slice(1, 1, d, 2).copy_(angles.cos().slice(1, 0, d / 2));
  return table.to(torch::kFloat32);
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(const ModelConfig& config)
    : padding_id_(config.padding_id.value_or(-1)), dropout_(config.dropout.embedding) {
  const int64_t d = config.d_model;
  tokens_ =
      register_parameter("tokens", initial_matrix(config.init.embedding, config.n_embedding(), d, config.init_std));
  positions_ = config.positions == PositionKind::learned
                   ? register_parameter("positions",
                                        initial_matrix(config.init.embedding, *config.n_positions, d, config.init_std))
                   : register_buffer("positions", sinusoids(*config.n_positions, d));
  if (config.positions == PositionKind::scaled_sinusoidal) {
    position_scale_ = register_parameter("position_scale", torch::full({1}, 1 / std::sqrt(static_cast<double>(d))));
  }
  if (config.n_token_types > 0) {
    token_types_ = register_parameter("token_types",
                                      initial_matrix(config.init.embedding, config.n_token_types, d, config.init_std));
  }
  norm_ = register_module("norm", make_norm(config.embedding_norm, d, config.embedding_norm_eps));
}

torch::Tensor EmbeddingImpl::forward(const torch::Tensor& ids, int64_t first, const torch::Tensor& token_types) {
  const int64_t end = first + ids.size(1);
  TORCH_CHECK(end <= positions_.size(0), "a sequence of ", end, " tokens, but there are ", positions_.size(0),
              " positions");
  const auto positions = positions_.slice(0, first, end);  // [T, D]
  auto x =
      at::embedding(tokens_, ids, padding_id_) + (position_scale_.defined() ? position_scale_ * positions : positions);
  if (token_types_.defined()) {
    x = x + (token_types.defined() ? at::embedding(token_types_, token_types) : token_types_.slice(0, 0, 1));
  }
  return dropout(dropout_, is_training(), norm_->forward(x));
}

}  // namespace skipless
