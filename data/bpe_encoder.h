// Text -> token ids. Pieces of the pre-tokenizer are looked up in a cache of words seen before, else merged.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "data/bpe_tokenizer.h"
#include "data/word_cache.h"

namespace skipless {

/// For one thread at a time; the tokenizer, which must outlive it, can be shared.
class BpeEncoder final : public TextEncoder {
 public:
  static constexpr std::size_t kLongestPiece = std::size_t{1} << 21;

  /// `cache_bytes`: what the words seen before may take.
  explicit BpeEncoder(const BpeTokenizer& tokenizer, std::size_t cache_bytes = WordCache::kDefaultBytes);

  /// Refuses also a byte that the tokenizer has no token for, and more than kLongestPiece bytes without the end of a
  /// word or number (merging them takes 20 times their memory).
  void encode(std::string_view text, std::vector<std::int32_t>& ids) override;
  void encode(std::string_view text, const Blocks& blocks) override;

 private:
  void encode_piece(std::string_view piece, std::size_t offset, std::vector<std::int32_t>& ids);
  void merge_short(std::vector<std::int32_t>& symbols);
  void merge_long(std::vector<std::int32_t>& symbols);

  const BpeTokenizer& tokenizer_;
  PieceReader pieces_;
  WordCache cache_;
  std::vector<std::int32_t> symbols_;
  std::vector<std::int32_t> block_;
  std::vector<MergeTable::Merge> merges_;  // scratch of merge_short
};

}  // namespace skipless
