#include "models/gpt.h"

#include <ATen/ops/linear.h>
#include <c10/core/GradMode.h>

namespace skipless {

GptImpl::GptImpl(const ModelConfig& config) : TransformerImpl(config) {
  if (config.tied_head) return;
  head_ = register_parameter(
      "head", initial_matrix(config.init.embedding, config.n_embedding(), config.d_model, config.init_std));
}

torch::Tensor GptImpl::extend(const torch::Tensor& ids, GptCache& cache) {
  const torch::NoGradGuard no_grad;
  auto x = embedding()->forward(ids, cache.length());
  for (size_t i = 0; i < blocks().size(); ++i) {
    const AttentionMask mask{.causal = true, .kept = {}, .cache = &cache.layer(i)};
    x = blocks()[i]->forward(x, mask);
  }
  return final_norm()->forward(x);
}

torch::Tensor GptImpl::logits(const torch::Tensor& hidden) {
  return at::linear(hidden, output_matrix()).slice(-1, 0, config().vocab_size);
}

torch::Tensor GptImpl::forward(const torch::Tensor& ids, const torch::Tensor& kept) {
  return logits(final_hidden({.ids = ids, .kept = kept}));
}

TokenLoss GptImpl::loss(const Batch& batch) {
  const auto hidden = final_hidden(batch).slice(1, 0, -1);                               // [B, T-1, D]
  const auto targets = (batch.labels.defined() ? batch.labels : batch.ids).slice(1, 1);  // [B, T-1]
  return token_loss(hidden.flatten(0, 1), output_matrix(), config().vocab_size, targets.flatten());
}

}  // namespace skipless
