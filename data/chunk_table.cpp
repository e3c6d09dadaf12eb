#include "data/chunk_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "configs/error.h"

namespace skipless {

ChunkTable::ChunkTable(TokenShard shard, std::int64_t chunk_length)
    : shard_(std::move(shard)), chunk_length_(chunk_length) {
  assert(chunk_length > 0);
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < shard_.documents(); ++i) {
    const TokenShard::Document document = shard_.document(i);
    longest = std::max(longest, document.size());
    const std::int64_t chunks = document.size() / chunk_length_;
    if (chunks == 0) continue;
    runs_.push_back({.first_chunk = size_, .first_token = document.begin});
    size_ += chunks;
  }
  if (size_ == 0) {
    throw UserError(
        fmt::format("token shard '{}' has no chunk of {} tokens: the longest of its {} documents has {} "
                    "tokens (chunks are cut from one document each)",
                    shard_.path().string(), chunk_length_, shard_.documents(), longest));
  }
}

void ChunkTable::copy(std::int64_t index, std::span<std::int64_t> out) const {
  assert(index >= 0 && index < size_ && static_cast<std::int64_t>(out.size()) == chunk_length_);
  const auto behind = std::upper_bound(runs_.begin(), runs_.end(), index,
                                       [](std::int64_t chunk, const Run& run) { return chunk < run.first_chunk; });
  const Run& run = *(behind - 1);
  shard_.copy(run.first_token + (index - run.first_chunk) * chunk_length_, out);
}

}  // namespace skipless
