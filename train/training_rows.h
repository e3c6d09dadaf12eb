// What a run trains on: the chunks of its data in the order of its seed, masked where the model predicts masked tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "data/chunk_batches.h"
#include "data/masking.h"
#include "data/prefetcher.h"
#include "data/prepared_data.h"
#include "models/batch.h"
#include "train/run_config.h"

namespace skipless {

/// A row is what stands for one item of ChunkBatches: its T tokens, or with masking those of masked_rows.h. It is a
/// pure function of the data, the seed train.data_seed and the item, however items are cut into batches; in every epoch
/// a chunk is masked anew.
class TrainingRows {
 public:
  TrainingRows(const RunConfig& config, const PreparedData& data);

  /// Chunks of an epoch.
  int64_t chunks() const { return chunks_.chunks(); }
  /// Numbers of a row.
  int64_t row_length() const { return (masker_ ? 2 : 1) * chunks_.chunk_length(); }
  /// Makes the rows from item `first` on, in a thread of its own, two batches ahead of the training, as far as 64 MiB
  /// reach. This must outlive it.
  std::unique_ptr<Prefetcher> loader(int64_t first) const;
  /// Of rows [B, row_length()] on the CPU, what the loss is taken on; of them alone, without a copy, where nothing is
  /// masked.
  Batch batch(const at::Tensor& rows) const;
  /// The batch of the items `first` to `first` + `rows` - 1, once more.
  Batch batch(int64_t first, int64_t rows) const;

 private:
  void fill(int64_t first, std::span<int64_t> rows) const;

  ChunkBatches chunks_;
  std::optional<TokenMasker> masker_;
};

/// How the chunks of an evaluation are masked: always in the same way, whatever the run's seeds. Nothing where the
/// model predicts every token.
std::optional<TokenMasker> evaluation_masker(const RunConfig& config, const Tokenizer& tokenizer);

}  // namespace skipless
