// Writes a token shard, document by document, in memory that does not grow with it. The file appears when it is
// committed. What is on the disk by a save() can be continued by another process.
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
  /// What a writer had saved, for the next one; a document may be open.
  struct Saved {
    std::int64_t tokens = 0;
    std::int64_t documents = 0;
    std::string tokens_checksum;  // XXH3, 64 bits, of what stands in the two temporary files
    std::string table_checksum;
  };

  /// Ids take 16 bits up to a vocabulary of 65,536 and 32 bits above. `tokenizer_hash` is Tokenizer::hash().
  TokenShardWriter(const std::filesystem::path& file, std::int64_t vocab_size, const std::string& tokenizer_hash);
  /// Goes on behind `saved`. UserError when the temporary files do not hold it.
  TokenShardWriter(const std::filesystem::path& file, std::int64_t vocab_size, const std::string& tokenizer_hash,
                   const Saved& saved);

  /// Adds to the current document. std::out_of_range for an id outside the vocabulary.
  void append(std::span<const std::int32_t> ids);
  void end_document();
  std::int64_t tokens() const { return tokens_; }
  std::int64_t documents() const { return documents_; }

  /// Brings all so far to the disk. From now on the temporary files stay until commit() or discard(). RunError when it
  /// cannot be written.
  Saved save();
  /// The temporary files go with this object, saved or not.
  void discard();

  /// Writes all that is left, to the disk and under a temporary name. RunError when it cannot be written.
  Summary finish();
  /// Lets the file appear, finished or not yet. RunError as above.
  Summary commit();

 private:
  class Checksum {
   public:
    Checksum();
    void add(const void* data, std::size_t bytes) { XXH3_64bits_update(state_.get(), data, bytes); }
    std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }
    /// Adds what stands in a file from byte `begin` to `end`, in blocks.
    void add_file(const std::filesystem::path& file, std::uint64_t begin, std::uint64_t end);

   private:
    struct FreeState {
      void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, FreeState> state_;
  };

  void write_tokens(const void* data, std::size_t bytes);
  void write_boundary();
  void append_table();

  AtomicFile file_;   // header and tokens, at the end the table too
  AtomicFile table_;  // boundaries of documents: 8 bytes each would be too much memory
  std::int64_t vocab_size_;
  std::string tokenizer_hash_;
  std::uint32_t token_bytes_;
  std::int64_t tokens_ = 0;
  std::int64_t documents_ = 0;
  std::int64_t document_begin_ = 0;
  std::vector<std::uint16_t> narrow_;  // scratch
  Checksum tokens_checksum_;
  Checksum table_checksum_;
  std::optional<Summary> finished_;
};

}  // namespace skipless
