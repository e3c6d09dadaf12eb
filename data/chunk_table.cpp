#include "data/chunk_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>

#include "configs/error.h"

namespace skipless {
namespace {

// Documents between two entries of the table: 8 bytes for each of 100 million documents would be 800 MB.
constexpr std::int64_t kStride = 64;

}  // namespace

ChunkTable::ChunkTable(TokenShard shard, std::int64_t chunk_length, const Chunking& chunking)
    : shard_(std::move(shard)), chunk_length_(chunk_length), chunking_(chunking) {
  assert(chunk_length > 0);
  if (chunking_.kind == ChunkKind::documents) {
    count_in_documents();
    return;
  }
  const std::int64_t stream = shard_.tokens() + shard_.documents();
  size_ = stream / chunk_length_;
  if (size_ == 0) {
    throw UserError(
        fmt::format("token shard '{}' has no chunk of {} tokens: its {} documents and the end-of-text tokens behind "
                    "them are {} tokens",
                    shard_.path().string(), chunk_length_, shard_.documents(), stream));
  }
}

void ChunkTable::count_in_documents() {
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < shard_.documents(); ++i) {
    if (i % kStride == 0) chunks_before_.push_back(size_);
    const std::int64_t tokens = shard_.document(i).size();
    longest = std::max(longest, tokens);
    size_ += tokens / chunk_length_;
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
  if (chunking_.kind == ChunkKind::documents) {
    copy_of_document(index, out);
  } else {
    copy_of_stream(index * chunk_length_, out);
  }
}

void ChunkTable::copy_of_document(std::int64_t index, std::span<std::int64_t> out) const {
  const auto behind = std::upper_bound(chunks_before_.begin(), chunks_before_.end(), index);
  std::int64_t before = *(behind - 1);
  for (std::int64_t i = (std::distance(chunks_before_.begin(), behind) - 1) * kStride;; ++i) {
    const TokenShard::Document document = shard_.document(i);
    const std::int64_t chunks = document.size() / chunk_length_;
    if (index < before + chunks) return shard_.copy(document.begin + (index - before) * chunk_length_, out);
    before += chunks;
  }
}

/// Document i is [begin + i, end + i) of the stream, and its end-of-text token stands at end + i.
void ChunkTable::copy_of_stream(std::int64_t position, std::span<std::int64_t> out) const {
  std::int64_t low = 0;  // the last document that begins at or before `position`
  std::int64_t high = shard_.documents();
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (shard_.document(middle).begin + middle <= position ? low : high) = middle;
  }
  for (std::int64_t i = low; !out.empty(); ++i) {
    const TokenShard::Document document = shard_.document(i);
    const std::int64_t first = std::max(position - i, document.begin);
    const std::int64_t count = std::min(document.end - first, static_cast<std::int64_t>(out.size()));
    if (count > 0) shard_.copy(first, out.first(static_cast<std::size_t>(count)));
    out = out.subspan(static_cast<std::size_t>(count));
    if (out.empty()) return;
    out.front() = chunking_.end_of_text;
    out = out.subspan(1);
    position = document.end + i + 1;
  }
}

}  // namespace skipless
