#include "eval/glue_prediction.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace skipless {
namespace {

/// Examples of like length beside each other, so that little is padded.
std::vector<int64_t> by_length(const GlueSequences& sequences) {
  std::vector<int64_t> order(static_cast<size_t>(sequences.size()));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return sequences.ids(a).size() < sequences.ids(b).size(); });
  return order;
}

bool is_regression(const ClassifierImpl& model) {
  return model.classifier_config().n_labels == 1;
}

at::Tensor labels_of(const GlueSequences& sequences, std::span<const int64_t> rows, bool as_numbers) {
  const auto n = static_cast<int64_t>(rows.size());
  auto labels = at::empty({n}, at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    labels.data_ptr<double>()[i] = sequences.labels()[static_cast<size_t>(rows[static_cast<size_t>(i)])];
  }
  return labels.to(as_numbers ? at::kFloat : at::kLong);
}

}  // namespace

Batch glue_batch(const ClassifierImpl& model, const GlueSequences& sequences, std::span<const int64_t> rows,
                 int64_t padding_id, bool pinned) {
  size_t longest = 0, shortest = std::numeric_limits<size_t>::max();
  for (const int64_t row : rows) {
    longest = std::max(longest, sequences.ids(row).size());
    shortest = std::min(shortest, sequences.ids(row).size());
  }
  const auto n = static_cast<int64_t>(rows.size());
  const auto t = static_cast<int64_t>(longest);
  const auto options = at::TensorOptions().dtype(at::kLong).pinned_memory(pinned);
  const bool has_types = model.config().n_token_types > 1;
  Batch batch{.ids = at::full({n, t}, padding_id, options)};
  if (has_types) batch.token_types = at::zeros({n, t}, options);
  if (shortest < longest) batch.kept = at::zeros({n, t}, options.dtype(at::kBool));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = rows[static_cast<size_t>(i)];
    const auto ids = sequences.ids(row);
    const auto length = static_cast<int64_t>(ids.size());
    std::copy(ids.begin(), ids.end(), batch.ids.data_ptr<int64_t>() + i * t);
    if (has_types) {
      int64_t* const types = batch.token_types.data_ptr<int64_t>() + i * t;
      std::fill(types + sequences.first_part(row), types + length, int64_t{1});
    }
    if (batch.kept.defined()) std::fill_n(batch.kept.data_ptr<bool>() + i * t, length, true);
  }
  batch.labels = labels_of(sequences, rows, is_regression(model));
  return batch;
}

std::vector<double> predict_glue(ClassifierImpl& model, const GlueSequences& sequences, int64_t batch_size,
                                 int64_t padding_id, at::Device device) {
  const c10::NoGradGuard no_grad;
  const bool was_training = model.is_training();
  model.eval();
  const auto order = by_length(sequences);
  std::vector<double> predictions(order.size());
  for (size_t first = 0; first < order.size(); first += static_cast<size_t>(batch_size)) {
    const size_t rows = std::min(static_cast<size_t>(batch_size), order.size() - first);
    const auto part = std::span(order).subspan(first, rows);
    const auto outputs = model.forward(glue_batch(model, sequences, part, padding_id).to(device));
    const auto said = is_regression(model) ? outputs.squeeze(1).to(at::kDouble) : outputs.argmax(1).to(at::kDouble);
    const auto usable = at::isfinite(outputs).all(1);
    const auto values = at::where(usable, said, std::numeric_limits<double>::quiet_NaN()).cpu().contiguous();
    for (size_t i = 0; i < rows; ++i) predictions[static_cast<size_t>(part[i])] = values.data_ptr<double>()[i];
  }
  model.train(was_training);
  return predictions;
}

}  // namespace skipless
