// The chunks of a shard (chunking.h): where chunk i lies, without a copy of the shard.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/chunking.h"
#include "data/token_shard.h"

namespace skipless {

class ChunkTable {
 public:
  /// UserError when there is no chunk: no document as long as one, or a packed stream that is shorter.
  ChunkTable(TokenShard shard, std::int64_t chunk_length, const Chunking& chunking = {});

  std::int64_t size() const { return size_; }
  std::int64_t chunk_length() const { return chunk_length_; }
  const TokenShard& shard() const { return shard_; }

  /// Copies chunk `index`, in the order of the shard, to `out` [chunk_length].
  void copy(std::int64_t index, std::span<std::int64_t> out) const;

 private:
  void count_in_documents();
  void copy_of_document(std::int64_t index, std::span<std::int64_t> out) const;
  void copy_of_stream(std::int64_t position, std::span<std::int64_t> out) const;

  TokenShard shard_;
  std::int64_t chunk_length_;
  Chunking chunking_;
  std::int64_t size_ = 0;
  std::vector<std::int64_t> chunks_before_;  // documents: of every kStride-th document
};

}  // namespace skipless
