#include "models/classifier.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tanh.h>

#include <array>

#include "models/full_precision.h"

namespace skipless {

std::span<const EnumName<Pooling>> enum_names(Pooling) {
  static constexpr std::array<EnumName<Pooling>, 2> kNames{{{Pooling::cls, "cls"}, {Pooling::mean, "mean"}}};
  return kNames;
}

void ClassifierConfig::keys(Schema& s) {
  s.key("pooling", pooling, "what the head reads: the first token, or the mean over the tokens that are not padding");
  s.key("hidden_layer", hidden_layer, "linear map and tanh before the last map");
  s.key("hidden_width", hidden_width, Range<int64_t>::between(1, 1'000'000), "width of it; empty: d_model");
  s.key("dropout", dropout, Range<double>::from_below(0, 1), "before the last map");
}

ClassifierImpl::ClassifierImpl(const ModelConfig& config, const ClassifierConfig& classifier)
    : TransformerImpl(config), classifier_(classifier) {
  TORCH_CHECK(config.kind == ModelKind::bert, "a classifier's first token must see the others");
  int64_t width = config.d_model;
  if (classifier.hidden_layer) {
    width = classifier.hidden_width.value_or(config.d_model);
    w_1_ = register_parameter("head_w_1", initial_matrix(InitConfig{}, width, config.d_model, config.init_std));
    b_1_ = register_parameter("head_b_1", torch::zeros({width}));
  }
  w_2_ = register_parameter("head_w_2", initial_matrix(InitConfig{}, classifier.n_labels, width, config.init_std));
  b_2_ = register_parameter("head_b_2", torch::zeros({classifier.n_labels}));
}

torch::Tensor ClassifierImpl::logits(const torch::Tensor& hidden, const Batch& batch) {
  torch::Tensor pooled;  // [B, D]
  if (classifier_.pooling == Pooling::cls) {
    pooled = hidden.select(1, 0);
  } else if (batch.kept.defined()) {
    const auto weights = batch.kept.to(hidden.scalar_type()).unsqueeze(-1);  // [B, T, 1]
    pooled = (hidden * weights).sum(1) / weights.sum(1).clamp_min(1);
  } else {
    pooled = hidden.mean(1);
  }
  if (w_1_.defined()) pooled = at::tanh(at::linear(pooled, w_1_, b_1_));
  return at::linear(dropout(classifier_.dropout, is_training(), pooled), w_2_, b_2_);
}

torch::Tensor ClassifierImpl::forward(const Batch& batch) {
  return logits(final_hidden(batch), batch);
}

TokenLoss ClassifierImpl::loss(const Batch& batch) {
  const auto& labels = batch.labels;
  TORCH_CHECK(labels.dim() == 1 && labels.size(0) == batch.sequences(), "labels of ", labels.sizes(), " for ",
              batch.sequences(), " sequences");
  const auto outputs = full_precision(forward(batch));
  if (classifier_.n_labels > 1) {
    TORCH_CHECK(labels.scalar_type() == at::kLong, "classes are int64, and these labels are ", labels.scalar_type());
    return {.sum = at::cross_entropy_loss(outputs, labels, /*weight=*/{}, at::Reduction::Sum, kIgnoredTarget),
            .count = labels.ne(kIgnoredTarget).sum()};
  }
  TORCH_CHECK(labels.is_floating_point(), "a regression's labels are ", labels.scalar_type());
  const auto difference = outputs.squeeze(1) - labels.to(outputs.scalar_type());  // [B]
  return {.sum = difference.square().sum(),
          .count = torch::full({}, labels.size(0), labels.options().dtype(at::kLong))};
}

Classifier make_classifier(const ModelConfig& config, const ClassifierConfig& classifier) {
  return std::make_shared<ClassifierImpl>(config, classifier);
}

}  // namespace skipless
