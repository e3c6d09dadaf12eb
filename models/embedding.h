// Embeddings of tokens, positions and token types.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "models/model_config.h"
#include "models/norm.h"

namespace skipless {

/// ids [B, T] -> [B, T, D]: token embedding + position embedding, of positions first, first + 1, ... + embedding of the
/// token types [B, T] (undefined: all 0; without such embeddings they play no role), then embedding_norm, then dropout.
/// The tables start as init.embedding says. Sinusoidal positions are fixed: PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p,
/// 2i+1) = cos(the same); scaled ones are s * PE, where the trained s starts at 1/sqrt(D). The lookup gives the row of
/// padding_id no gradient; a tied head still does.
class EmbeddingImpl : public torch::nn::Module {
 public:
  explicit EmbeddingImpl(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& ids, int64_t first = 0, const torch::Tensor& token_types = {});

  /// [n_embedding, D], also the output matrix of a tied head.
  const torch::Tensor& tokens() const { return tokens_; }

 private:
  torch::Tensor tokens_;
  int64_t padding_id_;  // -1: none
  double dropout_;
  torch::Tensor positions_;       // [n_positions, D]: a parameter, or a buffer when sinusoidal
  torch::Tensor position_scale_;  // [1]; only when scaled
  torch::Tensor token_types_;     // [n_token_types, D] or undefined
  Norm norm_;
};
TORCH_MODULE(Embedding);

}  // namespace skipless
