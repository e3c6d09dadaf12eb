#include "eval/loss.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <span>

namespace skipless {

LossResult evaluate_loss(TransformerImpl& model, const EvaluationBatches& batches, at::Device device) {
  const c10::NoGradGuard no_grad;
  const bool was_training = model.is_training();
  model.eval();
  auto sum = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device));
  auto count = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device));
  for (int64_t i = 0; i < batches.batches(); ++i) {
    auto ids = at::empty({batches.rows(i), batches.chunk_length()}, at::kLong);
    batches.batch(i, {ids.data_ptr<int64_t>(), static_cast<size_t>(ids.numel())});
    const TokenLoss loss = model.loss({.ids = ids.to(device)});
    sum += loss.sum;
    count += loss.count;
  }
  model.train(was_training);
  return {.sum = sum.item<double>(), .tokens = count.item<int64_t>()};
}

}  // namespace skipless
