#include "eval/masked_rows.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "models/token_loss.h"

namespace skipless {

static_assert(kNoLabel == kIgnoredTarget);

void mask_row(const TokenMasker& masker, int64_t item, std::span<int64_t> row) {
  const auto tokens = row.first(row.size() / 2);
  masker.mask(tokens, static_cast<int64_t>(tokens.size()), static_cast<uint64_t>(item), tokens,
              row.last(tokens.size()));
}

Batch masked_batch(const at::Tensor& rows) {
  const int64_t count = rows.size(0), length = rows.size(1) / 2;
  const auto options = at::TensorOptions().dtype(at::kLong).pinned_memory(rows.is_pinned());
  const auto labels = rows.narrow(1, length, length).contiguous();
  const auto masked = masked_positions({labels.data_ptr<int64_t>(), static_cast<size_t>(labels.numel())}, count);
  const auto tensor_of = [&](const std::vector<int64_t>& values) {
    auto tensor = at::empty({count, masked.most}, options);
    std::copy(values.begin(), values.end(), tensor.data_ptr<int64_t>());
    return tensor;
  };
  Batch batch;
  batch.ids = at::empty({count, length}, options);
  batch.ids.copy_(rows.narrow(1, 0, length));
  batch.positions = tensor_of(masked.positions);
  batch.labels = tensor_of(masked.labels);
  return batch;
}

}  // namespace skipless
