// A byte-level BPE tokenizer: vocabulary, merges and special tokens, checked and immutable. Text becomes ids in
// bpe_encoder.h; files are read in tokenizer_file.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/merge_table.h"
#include "data/pretokenizer.h"
#include "data/table_tokenizer.h"

namespace skipless {

/// What a tokenizer file says. Token texts are in the byte alphabet (byte_alphabet.h).
struct BpeContent {
  std::string source;  // the file, for messages
  TokenIds vocab;
  std::vector<std::pair<std::string, std::string>> merges;  // earliest first
  TokenIds specials;                                        // may stand in vocab too
};

/// Its hash is over vocabulary, merges and specials. Special tokens: those that the file lists, and those that no
/// merging of bytes can make (vocab.json has no list).
class BpeTokenizer final : public TableTokenizer {
 public:
  /// UserError for ids that are negative, too large or given twice, specials that contradict the vocabulary, merges
  /// that stand twice or whose parts or result are not in the vocabulary.
  explicit BpeTokenizer(const BpeContent& content);

  std::string_view kind() const override { return "byte-level BPE"; }
  bool is_lossless() const override { return true; }

  /// A BpeEncoder.
  std::unique_ptr<TextEncoder> make_encoder(std::size_t cache_bytes) const override;
  std::unique_ptr<TextCutter> make_cutter() const override;

  /// The bytes of the tokens, joined: decode(encode(text)) == text. Ids that were cut or generated may give invalid
  /// UTF-8.
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string to_json() const override;

 private:
  friend class BpeEncoder;

  void add_merges(const BpeContent& content);
  void mark_specials();
  std::string compute_hash() const;
  std::int32_t require(const BpeContent& content, std::size_t merge, const std::string& text) const;

  std::vector<std::string> bytes_;  // what a token stands for, by id
  std::vector<std::pair<std::int32_t, std::int32_t>> merge_list_;
  MergeTable merges_;
  std::array<std::int32_t, 256> byte_ids_{};  // -1: the byte has no token
  PreTokenizer pretokenizer_;
};

}  // namespace skipless
