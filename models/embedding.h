// Token and position embeddings.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "models/model_config.h"

namespace skipless {

/// ids [B, T] -> [B, T, D]: token embedding + position embedding, of positions first, first + 1, ..., then dropout.
/// Both tables start as init.embedding says; sinusoidal positions are fixed: PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p,
/// 2i+1) = cos(the same).
class EmbeddingImpl : public torch::nn::Module {
 public:
  explicit EmbeddingImpl(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& ids, int64_t first = 0);

  /// [n_embedding, D], also the output matrix of a tied head.
  const torch::Tensor& tokens() const { return tokens_; }

 private:
  torch::Tensor tokens_;
  double dropout_;
  torch::Tensor positions_;  // [n_positions, D]: a parameter, or a buffer when sinusoidal
};
TORCH_MODULE(Embedding);

}  // namespace skipless
