// GPT: a causal language model over any block variant.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <vector>

#include "models/attention_cache.h"
#include "models/block.h"
#include "models/embedding.h"
#include "models/model_config.h"
#include "models/step_follower.h"
#include "models/token_loss.h"

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

/// ids [B, T] -> embedding -> n_layer blocks -> final norm -> logits [B, T, vocab_size] by the (tied) output matrix,
/// without bias. `kept` [B, T] bool marks real tokens of a right-padded batch; undefined: all.
///
/// Rows of the embedding beyond vocab_size (vocab_multiple) get the logit -inf in the loss, hence no gradient, and do
/// not appear in the logits.
class GptImpl : public torch::nn::Module {
 public:
  explicit GptImpl(const ModelConfig& config);

  torch::Tensor forward(const torch::Tensor& ids, const torch::Tensor& kept = {});

  /// Sum of the cross-entropy of token t+1 given tokens 0..t, over targets that are not kIgnoredTarget, and their
  /// number. `labels` [B, T] default to the ids themselves. The head runs on the first T-1 positions only, and its
  /// logits never stand in memory all at once (token_loss.h).
  TokenLoss next_token_loss(const torch::Tensor& ids, const torch::Tensor& labels = {}, const torch::Tensor& kept = {});

  /// Around the micro-batches of optimizer step `step` (from 0): sets the lambda of an identity start, and lets gains
  /// under feedback follow what they measured (step_follower.h). `skipped`: scalar on the device, not 0 where the
  /// optimizer changes nothing at this step.
  void begin_step(int64_t step);
  void end_step(const torch::Tensor& skipped);

  /// Whether blocks keep their input alone and run forward again for their backward (recompute.h).
  void set_recompute(bool recompute) { recompute_ = recompute; }

  /// [B, T, D] each: the input of every block, then the output of the final norm: n_layer + 1 tensors.
  std::vector<torch::Tensor> hidden_states(const torch::Tensor& ids, const torch::Tensor& kept = {});
  /// The last of them for ids that follow those of `cache`, which they are added to, without a gradient: the same as
  /// for the whole sequence at once, up to rounding. The sequence may be as long as the cache and the positions allow.
  torch::Tensor extend(const torch::Tensor& ids, GptCache& cache);
  /// Logits [B, T, vocab_size] of the last of them.
  torch::Tensor logits(const torch::Tensor& hidden);

  const ModelConfig& config() const { return config_; }
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  /// [n_embedding, D]
  const torch::Tensor& output_matrix() const { return head_.defined() ? head_ : embedding_->tokens(); }
  torch::Tensor final_hidden(const torch::Tensor& ids, const torch::Tensor& kept);

  ModelConfig config_;
  bool recompute_ = false;
  std::vector<StepFollower*> followers_;  // among its modules, in their order
  Embedding embedding_{nullptr};
  std::vector<Block> blocks_;
  Norm final_norm_;
  torch::Tensor head_;  // [n_embedding, D]; only when the head is not tied
};
TORCH_MODULE(Gpt);

}  // namespace skipless
