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

EmbeddingImpl::EmbeddingImpl(const ModelConfig& config) : dropout_(config.dropout.embedding) {
  const int64_t d = config.d_model;
  tokens_ =
      register_parameter("tokens", initial_matrix(config.init.embedding, config.n_embedding(), d, config.init_std));
  positions_ = config.positions == PositionKind::learned
                   ? register_parameter("positions",
                                        initial_matrix(config.init.embedding, *config.n_positions, d, config.init_std))
                   : register_buffer("positions", sinusoids(*config.n_positions, d));
}

torch::Tensor EmbeddingImpl::forward(const torch::Tensor& ids, int64_t first) {
  const int64_t end = first + ids.size(1);
  TORCH_CHECK(end <= positions_.size(0), "a sequence of ", end, " tokens, but there are ", positions_.size(0),
              " positions");
  return dropout(dropout_, is_training(), at::embedding(tokens_, ids) + positions_.slice(0, first, end));
}

}  // namespace skipless
