#include "data/wordpiece_encoder.h"

#include "configs/utf8.h"

namespace skipless {
namespace {

constexpr std::size_t kBlock = 1 << 16;

}  // namespace

WordPieceEncoder::WordPieceEncoder(const WordPieceTokenizer& tokenizer, std::size_t cache_bytes)
    : tokenizer_(tokenizer), cache_(cache_bytes) {}

void WordPieceEncoder::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  encode_words(text, ids, [](std::size_t) {});
}

void WordPieceEncoder::encode(std::string_view text, const Blocks& blocks) {
  block_.clear();
  encode_words(text, block_, [&](std::size_t bytes) {
    if (block_.size() < kBlock) return;
    blocks(block_, bytes);
    block_.clear();
  });
  if (!block_.empty()) blocks(block_, text.size());
}

/// `after_word` sees how many bytes are encoded.
template <class AfterWord>
void WordPieceEncoder::encode_words(std::string_view text, std::vector<std::int32_t>& ids,
                                    const AfterWord& after_word) {
  require_utf8(text);
  const BertNormalizer& normalizer = tokenizer_.normalizer_;
  std::size_t word = 0;  // where it begins
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const auto byte = static_cast<unsigned char>(text[at]);
    const CharacterKind kind = normalizer.kind(byte < 0x80 ? (++at, byte) : next_code_point(text, at));
    if (kind == CharacterKind::part) continue;
    if (word < begin) encode_word(text.substr(word, begin - word), ids);
    if (kind == CharacterKind::alone) encode_word(text.substr(begin, at - begin), ids);
    word = at;
    after_word(at);
  }
  if (word < text.size()) encode_word(text.substr(word), ids);
}

void WordPieceEncoder::encode_word(std::string_view word, std::vector<std::int32_t>& ids) {
  if (cache_.append(word, ids)) return;
  pieces_.clear();
  tokenizer_.append_pieces(word, pieces_);
  cache_.insert(word, pieces_);
  ids.insert(ids.end(), pieces_.begin(), pieces_.end());
}

std::size_t WordPieceCutter::last_safe_cut(std::string_view text) {
  // A character that is no part of a word separates what stands before it from what stands behind it: combining marks
  // do not change places with it.
  for (std::size_t end = text.size(); end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    std::size_t behind = begin;
    const CharacterKind kind = normalizer_.kind(next_code_point(text, behind));
    if (kind != CharacterKind::part && end < text.size()) return end;
    if (kind != CharacterKind::part && begin > 0) return begin;
    end = begin;
  }
  return 0;
}

}  // namespace skipless
