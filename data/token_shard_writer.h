// Writes a token shard, document by document, in bounded memory (8 bytes a document). The file appears when it is
// committed.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "configs/atomic_file.h"

namespace skipless {

class TokenShardWriter {
 public:
  struct Summary {
    std::int64_t tokens = 0;
    std::int64_t documents = 0;
    std::string checksum;  // as TokenShard::checksum
  };

  /// Ids take 16 bits up to a vocabulary of 65,536 and 32 bits above. `tokenizer_hash` is BpeTokenizer::hash().
  TokenShardWriter(const std::filesystem::path& file, std::int64_t vocab_size, const std::string& tokenizer_hash);

  /// Adds to the current document. std::out_of_range for an id outside the vocabulary.
  void append(std::span<const std::int32_t> ids);
  void end_document();
  std::int64_t tokens() const { return tokens_; }
  std::int64_t documents() const { return static_cast<std::int64_t>(boundaries_.size()) - 1; }

  /// Writes all that is left, to the disk and under a temporary name. RunError when it cannot be written.
  Summary finish();
  /// Lets the file appear, finished or not yet. RunError as above.
  Summary commit();

 private:
  struct FreeState {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  void write_payload(const void* data, std::size_t bytes);

  AtomicFile file_;
  std::int64_t vocab_size_;
  std::string tokenizer_hash_;
  std::uint32_t token_bytes_;
  std::int64_t tokens_ = 0;
  std::vector<std::uint64_t> boundaries_ = {0};
  std::vector<std::uint16_t> narrow_;  // scratch
  std::unique_ptr<XXH3_state_t, FreeState> checksum_;
  std::optional<Summary> finished_;
};

}  // namespace skipless
