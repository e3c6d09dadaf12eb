// The chunks of a shard, as the paper cuts them: whole chunks of one document, a document's tail dropped, documents
// never joined, no end-of-text token inserted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/token_shard.h"

namespace skipless {

class ChunkTable {
 public:
  /// UserError when no document is as long as one chunk.
  ChunkTable(TokenShard shard, std::int64_t chunk_length);

  std::int64_t size() const { return size_; }
  std::int64_t chunk_length() const { return chunk_length_; }
  const TokenShard& shard() const { return shard_; }

  /// Copies chunk `index`, in the order of the shard, to `out` [chunk_length].
  void copy(std::int64_t index, std::span<std::int64_t> out) const;

 private:
  struct Run {
    std::int64_t first_chunk = 0;  // of this document
    std::int64_t first_token = 0;
  };

  TokenShard shard_;
  std::int64_t chunk_length_;
  std::int64_t size_ = 0;
  std::vector<Run> runs_;  // documents of at least one chunk
};

}  // namespace skipless
