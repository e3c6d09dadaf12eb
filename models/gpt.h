// GPT: a causal language model over any block variant.
#pragma once

#include <torch/nn/pimpl.h>

#include <vector>

#include "models/attention_cache.h"
#include "models/transformer.h"

namespace skipless {

/// What the layers remember of one batch of sequences, one AttentionCache each.
class GptCache {
 public:
  /// For at most `capacity` tokens a sequence.
  GptCache(const ModelConfig& config, int64_t capacity)
      : layers_(static_cast<size_t>(config.n_layer), AttentionCache(capacity)) {}

  /// Tokens that it holds of each sequence.
  int64_t length() const { return layers_.front().length(); }
  AttentionCache& layer(size_t index) { return layers_[index]; }

 private:
  std::vector<AttentionCache> layers_;
};

/// Logits [B, T, vocab_size] of the next token at every position, by the (tied) output matrix, without bias.
///
/// Rows of the embedding beyond vocab_size (vocab_multiple) get the logit -inf in the loss, hence no gradient, and do
/// not appear in the logits.
class GptImpl : public TransformerImpl {
 public:
  explicit GptImpl(const ModelConfig& config);

  torch::Tensor forward(const torch::Tensor& ids, const torch::Tensor& kept = {});

  /// Sum of the cross-entropy of token t+1 given tokens 0..t, over targets that are not kIgnoredTarget, and their
  /// number. `batch.labels` [B, T] default to the ids themselves. The head runs on the first T-1 positions only, and
  /// its logits never stand in memory all at once (token_loss.h).
  TokenLoss loss(const Batch& batch) override;

  torch::Tensor logits(const torch::Tensor& hidden, const Batch&) override { return logits(hidden); }
  torch::Tensor logits(const torch::Tensor& hidden);
  /// The final hidden states [B, T, D] for ids that follow those of `cache`, which they are added to, without a
  /// gradient: the same as for the whole sequence at once, up to rounding. The sequence may be as long as the cache and
  /// the positions allow.
  torch::Tensor extend(const torch::Tensor& ids, GptCache& cache);

 private:
  /// [n_embedding, D]
  const torch::Tensor& output_matrix() { return head_.defined() ? head_ : embedding()->tokens(); }

  torch::Tensor head_;  // [n_embedding, D]; only when the head is not tied
};
TORCH_MODULE(Gpt);

}  // namespace skipless
