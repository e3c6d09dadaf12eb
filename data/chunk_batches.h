// Batches of chunks: for training a pure function of seed and index, for evaluation a fixed list.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/chunk_table.h"

namespace skipless {

/// Batches without end. Epochs follow each other, each in its own order, and batches are always full: one that the end
/// of an epoch cuts goes on with the next epoch's first chunks. Row r of batch i is item i * batch_size + r of that
/// sequence, which does not depend on how it is cut into batches: rows() cuts it anywhere.
class ChunkBatches {
 public:
  /// UserError when the shard has no chunk, or fewer chunks than one batch.
  ChunkBatches(TokenShard shard, std::int64_t chunk_length, std::int64_t batch_size, std::uint64_t seed, bool shuffle,
               const Chunking& chunking = {});

  /// Chunks of an epoch.
  std::int64_t chunks() const { return table_.size(); }
  std::int64_t chunk_length() const { return table_.chunk_length(); }
  std::int64_t batch_size() const { return batch_size_; }

  /// Fills `out`, [batch_size, chunk_length], with batch `index` (0, 1, ...): the same for the same seed, whatever was
  /// asked for before, on any machine.
  void batch(std::int64_t index, std::span<std::int64_t> out) const;
  /// Fills `out`, [any number of rows, chunk_length], with the items `first_item`, `first_item` + 1, ... (from 0).
  /// RunError when the shard's file was cut off since it was opened.
  void rows(std::int64_t first_item, std::span<std::int64_t> out) const;
  /// Where an item comes from, for messages.
  std::string place(std::int64_t item) const;

 private:
  std::int64_t chunk_of(std::int64_t item) const;

  ChunkTable table_;
  std::int64_t batch_size_;
  std::uint64_t seed_;
  bool shuffle_;
};

/// Chunks of a shard in order, each at most once and always the same ones; the last batch may be shorter. Where not all
/// are wanted they lie evenly over the shard, whose neighbours are alike: n of N chunks are those with the numbers
/// i*N/n, rounded down.
class EvaluationBatches {
 public:
  /// At most `max_tokens` tokens' whole chunks. UserError when the shard has no chunk, or max_tokens is below one
  /// chunk.
  EvaluationBatches(TokenShard shard, std::int64_t chunk_length, std::int64_t batch_size, std::int64_t max_tokens,
                    const Chunking& chunking = {});

  std::int64_t chunks() const { return chunks_; }
  std::int64_t chunk_length() const { return table_.chunk_length(); }
  std::int64_t batches() const { return (chunks_ + batch_size_ - 1) / batch_size_; }
  /// Rows of batch `index`: batch_size, or fewer in the last one.
  std::int64_t rows(std::int64_t index) const;
  /// Fills `out`, [rows(index), chunk_length].
  void batch(std::int64_t index, std::span<std::int64_t> out) const;

 private:
  ChunkTable table_;
  std::int64_t batch_size_;
  std::int64_t chunks_;
};

}  // namespace skipless
