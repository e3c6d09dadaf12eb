// Text -> token ids of a WordPieceTokenizer. Words are looked up in a cache of words seen before, else normalized and
// cut into the longest pieces that the vocabulary has, from the left.
#pragma once

#include <string_view>
#include <vector>

#include "data/word_cache.h"
#include "data/wordpiece_tokenizer.h"

namespace skipless {

class WordPieceEncoder final : public TextEncoder {
 public:
  explicit WordPieceEncoder(const WordPieceTokenizer& tokenizer, std::size_t cache_bytes = WordCache::kDefaultBytes);

  /// Refuses nothing but invalid UTF-8.
  void encode(std::string_view text, std::vector<std::int32_t>& ids) override;
  void encode(std::string_view text, const Blocks& blocks) override;

 private:
  template <class AfterWord>
  void encode_words(std::string_view text, std::vector<std::int32_t>& ids, const AfterWord& after_word);
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids);

  const WordPieceTokenizer& tokenizer_;
  WordCache cache_;
  std::vector<std::int32_t> pieces_;
  std::vector<std::int32_t> block_;
};

/// Between two words, or before a blank.
class WordPieceCutter final : public TextCutter {
 public:
  explicit WordPieceCutter(const WordPieceTokenizer& tokenizer) : normalizer_(tokenizer.normalizer_) {}

  std::size_t last_safe_cut(std::string_view text) override;
  /// A word of any length can be encoded.
  std::optional<std::string> fault_of(std::string_view, std::uint64_t) override { return std::nullopt; }

 private:
  const BertNormalizer& normalizer_;
};

}  // namespace skipless
