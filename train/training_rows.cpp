#include "train/training_rows.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "data/permutation.h"
#include "eval/masked_rows.h"

namespace skipless {

namespace {

// Seeds of masks: not those of the order of the chunks, nor of each other.
constexpr uint64_t kTrainingMasks = 0x6d61736b73;
constexpr uint64_t kEvaluationMasks = 0x6576616c;

std::optional<TokenMasker> masker_of(const RunConfig& config, const Tokenizer& tokenizer, uint64_t seed) {
  if (!config.is_masked()) return std::nullopt;
  return TokenMasker(config.data.masking, tokenizer, seed);
}

}  // namespace

TrainingRows::TrainingRows(const RunConfig& config, const PreparedData& data)
    : chunks_(data.train, config.model.context_length, config.train.batch_size,
              static_cast<uint64_t>(config.train.data_seed), /*shuffle=*/true,
              chunking_with(config.data.chunking, *data.tokenizer)),
      masker_(masker_of(config, *data.tokenizer, mix(static_cast<uint64_t>(config.train.data_seed), kTrainingMasks))) {}

void TrainingRows::fill(int64_t first, std::span<int64_t> rows) const {
  if (!masker_) return chunks_.rows(first, rows);
  const auto length = static_cast<size_t>(row_length());
  for (int64_t item = first; !rows.empty(); ++item, rows = rows.subspan(length)) {
    const auto row = rows.first(length);
    chunks_.rows(item, row.first(length / 2));
    mask_row(*masker_, item, row);
  }
}

std::unique_ptr<Prefetcher> TrainingRows::loader(int64_t first) const {
  constexpr int64_t kMostBytes = 64 << 20;
  const int64_t most = kMostBytes / (row_length() * static_cast<int64_t>(sizeof(int64_t)));
  const int64_t ahead = std::clamp<int64_t>(2 * chunks_.batch_size(), 1, std::max<int64_t>(1, most));
  return std::make_unique<Prefetcher>(
      row_length(), first, ahead, [this](int64_t row, std::span<int64_t> out) { fill(row, out); },
      [this](int64_t row) { return chunks_.place(row); });
}

Batch TrainingRows::batch(const at::Tensor& rows) const {
  return masker_ ? masked_batch(rows) : Batch{.ids = rows};
}

Batch TrainingRows::batch(int64_t first, int64_t rows) const {
  auto made = at::empty({rows, row_length()}, at::kLong);
  fill(first, {made.data_ptr<int64_t>(), static_cast<size_t>(made.numel())});
  return batch(made);
}

std::optional<TokenMasker> evaluation_masker(const RunConfig& config, const Tokenizer& tokenizer) {
  return masker_of(config, tokenizer, kEvaluationMasks);
}

}  // namespace skipless
