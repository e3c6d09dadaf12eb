// A memory-mapped file of token ids with document boundaries (token_shard_format.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace skipless {

/// Cheap to copy: copies share one mapping.
class TokenShard {
 public:
  /// Opens and checks everything, in one pass over the file: size, header, checksums, document boundaries, and that
  /// each id is below the vocabulary's size. UserError for whatever is wrong, with file, place, value and what was
  /// allowed. Nothing is allocated by what the header says.
  static TokenShard open(const std::filesystem::path& file);

  std::int64_t tokens() const;
  std::int64_t documents() const;
  std::int64_t vocab_size() const;
  /// Width of an id in the file: 2 or 4.
  int token_bytes() const;
  const std::string& tokenizer_hash() const;
  /// Of the content, 16 hexadecimal digits: tells two shards apart.
  const std::string& checksum() const;
  const std::filesystem::path& path() const;

  struct Document {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
  };
  Document document(std::int64_t index) const;

  /// RunError when the file was cut off since it was opened: reading on would end the process. (A file of its name that
  /// took its place is no fault; the old one is still there to be read.)
  void require_whole() const;

  /// Copies ids `first`, `first` + 1, ... as far as `out` is long; they must lie in the shard.
  void copy(std::int64_t first, std::span<std::int64_t> out) const;

 private:
  struct State;
  explicit TokenShard(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace skipless
