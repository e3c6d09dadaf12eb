// An encoder with a head that gives a whole sequence a class or a number: what is fine-tuned.
#pragma once

#include <torch/nn/pimpl.h>

#include <memory>
#include <optional>
#include <span>

#include "configs/schema.h"
#include "models/transformer.h"

namespace skipless {

enum class Pooling { cls, mean };
std::span<const EnumName<Pooling>> enum_names(Pooling);

struct ClassifierConfig {
  int64_t n_labels = 2;  // of the task, not of the user: 1 is a regression
  Pooling pooling = Pooling::cls;
  bool hidden_layer = true;
  std::optional<int64_t> hidden_width;  // default d_model
  double dropout = 0.1;

  void keys(Schema& s);
};

/// p = the final hidden state of the first token (cls), or its mean over the kept tokens (mean), [B, D];
/// q = tanh(W_1 p + b_1), if there is a hidden layer, else p;  logits = W_2 dropout(q) + b_2, [B, n_labels].
///
/// Crammed: cls, a hidden layer of 1024. Hugging Face BERT, whose pooler the hidden layer is: cls, a layer of D. Both
/// matrices start as N(0, init_std^2), biases at 0. The trunk (embedding, blocks, final norm) has the names that it has
/// in every other model of the same config, so that the tensors of a pre-trained one fit.
class ClassifierImpl : public TransformerImpl {
 public:
  /// `config.kind` is bert.
  ClassifierImpl(const ModelConfig& config, const ClassifierConfig& classifier);

  /// [B, n_labels]
  torch::Tensor forward(const Batch& batch);

  /// n_labels > 1: sum of the cross-entropy of labels [B] int64 in 0..n_labels-1, or kIgnoredTarget, and the number of
  /// those that count. n_labels 1: sum of (logit - label)^2 over labels [B] of a floating type, and B. Labels of any
  /// other shape or type are refused: they would broadcast.
  TokenLoss loss(const Batch& batch) override;

  torch::Tensor logits(const torch::Tensor& hidden, const Batch& batch) override;

  const ClassifierConfig& classifier_config() const { return classifier_; }

 private:
  ClassifierConfig classifier_;
  torch::Tensor w_1_, b_1_;  // [width, D], [width]; only with a hidden layer
  torch::Tensor w_2_, b_2_;  // [n_labels, width or D], [n_labels]
};
using Classifier = std::shared_ptr<ClassifierImpl>;

/// On the CPU, its values drawn from LibTorch's default generator: the trunk's as make_model draws them, then the
/// head's.
Classifier make_classifier(const ModelConfig& config, const ClassifierConfig& classifier);

}  // namespace skipless
