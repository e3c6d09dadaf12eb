// BERT: an encoder over any block variant, and its head as a masked language model.
#pragma once

#include <torch/nn/pimpl.h>

#include "models/transformer.h"

namespace skipless {

/// h [.., D] -> LayerNorm(act(W h + b)): what Hugging Face's head has before its output matrix.
class MlmTransformImpl : public torch::nn::Module {
 public:
  explicit MlmTransformImpl(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& hidden);

  static int64_t n_parameters(int64_t d);

 private:
  Activation activation_;
  double leaky_slope_;
  torch::Tensor w_;  // [D, D]
  torch::Tensor b_;  // [D]
  Norm norm_;
};
TORCH_MODULE(MlmTransform);

/// No token is hidden from another but padding (Batch::kept), and C of shaped attention is 1/(kept keys), or 1/T with
/// `centring_over: all`. With the former, what is padded never reaches a real token: a padded batch gives each
/// sequence the logits that it gets alone.
///
/// Head: logits = transform(h) W^T + b, where W [n_embedding, D] is tied or not, and mlm_head says whether there are a
/// transform and b. Rows of W beyond vocab_size have no part in it (gpt.h).
class BertImpl : public TransformerImpl {
 public:
  explicit BertImpl(const ModelConfig& config);

  /// Logits for what the batch predicts: [B, M, vocab_size] at batch.positions, or [B, T, vocab_size].
  torch::Tensor forward(const Batch& batch);

  /// Sum of the cross-entropy of the original tokens, and their number, over labels that are not kIgnoredTarget.
  ///   dense: labels [B, T], kIgnoredTarget where nothing is predicted;
  ///   sparse: positions [B, M] in 0..T-1 and labels [B, M] of the tokens there; the head runs on those alone. Rows
  ///   with fewer than M predictions are filled up with any position and the label kIgnoredTarget.
  TokenLoss loss(const Batch& batch) override;

  torch::Tensor logits(const torch::Tensor& hidden, const Batch& batch) override;

 private:
  /// [n_embedding, D]
  const torch::Tensor& output_matrix() { return head_.defined() ? head_ : embedding()->tokens(); }
  /// What the output matrix reads, of the positions that are predicted: [B, M or T, D].
  torch::Tensor predicting(const torch::Tensor& hidden, const Batch& batch);

  torch::Tensor head_;               // [n_embedding, D]; only when the head is not tied
  MlmTransform transform_{nullptr};  // only with mlm_head.transform
  torch::Tensor head_bias_;          // [n_embedding]; only with mlm_head.bias
};
TORCH_MODULE(Bert);

}  // namespace skipless
