#include "data/chunk_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "configs/error.h"
#include "data/permutation.h"

namespace skipless {

ChunkBatches::ChunkBatches(TokenShard shard, std::int64_t chunk_length, std::int64_t batch_size, std::uint64_t seed,
                           bool shuffle, const Chunking& chunking)
    : table_(std::move(shard), chunk_length, chunking), batch_size_(batch_size), seed_(seed), shuffle_(shuffle) {
  assert(batch_size > 0);
  if (chunks() < batch_size) {
    throw UserError(fmt::format("token shard '{}' has {} chunks of {} tokens, fewer than one batch of {}",
                                table_.shard().path().string(), chunks(), chunk_length, batch_size));
  }
}

void ChunkBatches::batch(std::int64_t index, std::span<std::int64_t> out) const {
  assert(static_cast<std::int64_t>(out.size()) == batch_size_ * chunk_length());
  rows(index * batch_size_, out);
}

std::int64_t ChunkBatches::chunk_of(std::int64_t item) const {
  const std::int64_t chunk = item % chunks();
  if (!shuffle_) return chunk;
  const std::int64_t epoch = item / chunks();
  const Permutation order(static_cast<std::uint64_t>(chunks()), mix(seed_, static_cast<std::uint64_t>(epoch)));
  return static_cast<std::int64_t>(order(static_cast<std::uint64_t>(chunk)));
}

void ChunkBatches::rows(std::int64_t first_item, std::span<std::int64_t> out) const {
  assert(first_item >= 0 && static_cast<std::int64_t>(out.size()) % chunk_length() == 0);
  table_.shard().require_whole();
  const std::int64_t rows = static_cast<std::int64_t>(out.size()) / chunk_length();
  for (std::int64_t row = 0; row < rows; ++row) {
    table_.copy(chunk_of(first_item + row),
                out.subspan(static_cast<std::size_t>(row * chunk_length()), static_cast<std::size_t>(chunk_length())));
  }
}

std::string ChunkBatches::place(std::int64_t item) const {
  return fmt::format("sequence {} of epoch {} (chunk {} of '{}')", item % chunks() + 1, item / chunks() + 1,
                     chunk_of(item), table_.shard().path().string());
}

EvaluationBatches::EvaluationBatches(TokenShard shard, std::int64_t chunk_length, std::int64_t batch_size,
                                     std::int64_t max_tokens, const Chunking& chunking)
    : table_(std::move(shard), chunk_length, chunking),
      batch_size_(batch_size),
      chunks_(std::min(table_.size(), max_tokens / chunk_length)) {
  assert(batch_size > 0);
  if (chunks_ < 1) {
    throw UserError(
        fmt::format("evaluation on {} tokens is less than one chunk of {} tokens", max_tokens, chunk_length));
  }
}

std::int64_t EvaluationBatches::rows(std::int64_t index) const {
  assert(index >= 0 && index < batches());
  return std::min(batch_size_, chunks_ - index * batch_size_);
}

void EvaluationBatches::batch(std::int64_t index, std::span<std::int64_t> out) const {
  assert(static_cast<std::int64_t>(out.size()) == rows(index) * chunk_length());
  for (std::int64_t row = 0; row < rows(index); ++row) {
    const std::int64_t chunk = (index * batch_size_ + row) * table_.size() / chunks_;
    table_.copy(chunk,
                out.subspan(static_cast<std::size_t>(row * chunk_length()), static_cast<std::size_t>(chunk_length())));
  }
}

}  // namespace skipless
