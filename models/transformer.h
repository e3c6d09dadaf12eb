// What every model is: embedding, a stack of blocks of one variant, a final norm. Its heads are in gpt.h, bert.h and
// classifier.h.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "models/batch.h"
#include "models/block.h"
#include "models/embedding.h"
#include "models/model_config.h"
#include "models/step_follower.h"
#include "models/token_loss.h"

namespace skipless {

/// ids [B, T] -> embedding -> n_layer blocks -> final norm -> [B, T, D]. `kept` [B, T] bool marks the real tokens of a
/// right-padded batch; undefined: all.
class TransformerImpl : public torch::nn::Module {
 public:
  explicit TransformerImpl(const ModelConfig& config);

  /// Sum of the loss over all that `batch` has to predict, and their number.
  virtual TokenLoss loss(const Batch& batch) = 0;
  /// What the head makes of the final hidden states [B, T, D] of `batch`.
  virtual torch::Tensor logits(const torch::Tensor& hidden, const Batch& batch) = 0;

  /// [B, T, D] each: the input of every block, then the output of the final norm: n_layer + 1 tensors.
  std::vector<torch::Tensor> hidden_states(const Batch& batch);
  /// What attention may see in `batch`.
  AttentionMask attention_mask(const Batch& batch) const;

  /// Around the micro-batches of optimizer step `step` (from 0): sets the lambda of an identity start, and lets gains
  /// under feedback follow what they measured (step_follower.h). `skipped`: scalar on the device, not 0 where the
  /// optimizer changes nothing at this step.
  void begin_step(int64_t step);
  void end_step(const torch::Tensor& skipped);

  /// Whether blocks keep their input alone and run forward again for their backward (recompute.h).
  void set_recompute(bool recompute) { recompute_ = recompute; }

  const ModelConfig& config() const { return config_; }
  const std::vector<Block>& blocks() const { return blocks_; }

 protected:
  /// The last of the hidden states.
  torch::Tensor final_hidden(const Batch& batch);
  Embedding& embedding() { return embedding_; }
  Norm& final_norm() { return final_norm_; }

 private:
  ModelConfig config_;
  bool recompute_ = false;
  std::vector<StepFollower*> followers_;  // among its modules, in their order
  Embedding embedding_{nullptr};
  std::vector<Block> blocks_;
  Norm final_norm_;
};
using Transformer = std::shared_ptr<TransformerImpl>;

}  // namespace skipless
