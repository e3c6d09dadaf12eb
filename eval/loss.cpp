#include "eval/loss.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <span>

#include "eval/masked_rows.h"

namespace skipless {

namespace {

/// The chunks `ids` [rows, T] of the list, from number `first` on, masked.
Batch masked(const at::Tensor& ids, int64_t first, const TokenMasker& masker) {
  auto rows = at::empty({ids.size(0), 2 * ids.size(1)}, at::kLong);
  rows.narrow(1, 0, ids.size(1)).copy_(ids);
  for (int64_t i = 0; i < rows.size(0); ++i) {
    mask_row(masker, first + i, {rows[i].data_ptr<int64_t>(), static_cast<size_t>(rows.size(1))});
  }
  return masked_batch(rows);
}

}  // namespace

LossResult evaluate_loss(TransformerImpl& model, const EvaluationBatches& batches, at::Device device,
                         const TokenMasker* masker) {
  const c10::NoGradGuard no_grad;
  const bool was_training = model.is_training();
  model.eval();
  auto sum = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device));
  auto count = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device));
  int64_t chunk = 0;
  for (int64_t i = 0; i < batches.batches(); ++i) {
    auto ids = at::empty({batches.rows(i), batches.chunk_length()}, at::kLong);
    batches.batch(i, {ids.data_ptr<int64_t>(), static_cast<size_t>(ids.numel())});
    const Batch batch = masker == nullptr ? Batch{.ids = ids} : masked(ids, chunk, *masker);
    chunk += ids.size(0);
    const TokenLoss loss = model.loss(batch.to(device));
    sum += loss.sum;
    count += loss.count;
  }
  model.train(was_training);
  return {.sum = sum.item<double>(), .tokens = count.item<int64_t>()};
}

}  // namespace skipless
