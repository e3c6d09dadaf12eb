// What the program needs of a tokenizer, whatever its kind: bpe_tokenizer.h, wordpiece_tokenizer.h. Files are read in
// tokenizer_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/word_cache.h"

namespace skipless {

/// UserError, with the byte and its offset, for what is not valid UTF-8.
void require_utf8(std::string_view text);

/// Text -> ids. For one thread at a time; its tokenizer must outlive it.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  /// Appends the ids of `text`. Special tokens are ordinary text here. UserError, with the byte's offset, for text that
  /// is not valid UTF-8 and for what the kind of tokenizer refuses.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) = 0;

  /// The same in blocks of bounded size, for texts of any length. `blocks` sees the ids in order, and how many bytes of
  /// the text are encoded by then.
  using Blocks = std::function<void(std::span<const std::int32_t> ids, std::size_t bytes)>;
  virtual void encode(std::string_view text, const Blocks& blocks) = 0;
};

/// Where a long text can be cut so that its parts, encoded one by one, give the ids of the whole. For one thread at a
/// time.
class TextCutter {
 public:
  virtual ~TextCutter() = default;

  /// The last such place in `text`, which is valid UTF-8 and begins at the start of a text or at such a place; 0 where
  /// there is none. What stands behind `text` does not matter.
  virtual std::size_t last_safe_cut(std::string_view text) = 0;

  /// Why `text`, valid UTF-8 that begins at byte `offset` of a document, cannot be encoded, if so. Worded to stand
  /// behind "is".
  virtual std::optional<std::string> fault_of(std::string_view text, std::uint64_t offset) = 0;
};

/// Immutable once made: any number of threads may share one.
class Tokenizer {
 public:
  /// One more than the largest id that a tokenizer may use.
  static constexpr std::int64_t kMaxVocabSize = std::int64_t{1} << 24;

  virtual ~Tokenizer() = default;

  /// "byte-level BPE", for messages.
  virtual std::string_view kind() const = 0;
  /// Whether decode(encode(text)) == text, for every text, token by token.
  virtual bool is_lossless() const = 0;

  /// Largest id + 1: what a model's embedding needs. Ids may have gaps.
  virtual std::int64_t vocab_size() const = 0;
  /// Ids below vocab_size() that no token has.
  virtual std::int64_t unused_ids() const = 0;
  /// 32 hexadecimal digits (XXH3, 128 bits) over all that decides the ids of a text: equal for all kinds of files of
  /// one tokenizer.
  virtual const std::string& hash() const = 0;

  /// Whether a token has this id, and whether it is a special one.
  virtual bool has_id(std::int32_t id) const = 0;
  virtual bool is_special(std::int32_t id) const = 0;
  /// Text never becomes a special token, even where it spells one: only a pipeline inserts them, by this id.
  virtual std::optional<std::int32_t> special_token_id(std::string_view text) const = 0;

  /// `cache_bytes`: what the words seen before may take.
  virtual std::unique_ptr<TextEncoder> make_encoder(std::size_t cache_bytes = WordCache::kDefaultBytes) const = 0;
  virtual std::unique_ptr<TextCutter> make_cutter() const = 0;

  /// Ids of `text`; a TextEncoder is faster for more than one text.
  std::vector<std::int32_t> encode(std::string_view text) const;

  /// The text of the tokens. A special token gives its name. UserError for an id that no token has.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

  /// The equivalent tokenizer.json, as the `tokenizers` package reads it.
  virtual std::string to_json() const = 0;

 protected:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = default;
  Tokenizer(Tokenizer&&) = default;
  Tokenizer& operator=(const Tokenizer&) = default;
  Tokenizer& operator=(Tokenizer&&) = default;
};

}  // namespace skipless
