// A byte-level BPE tokenizer: vocabulary, merges and special tokens, checked and immutable. Text becomes ids in
// bpe_encoder.h; files are read in tokenizer_file.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/merge_table.h"
#include "data/pretokenizer.h"
#include "data/tokenizer.h"

namespace skipless {

/// What a tokenizer file says. Token texts are in the byte alphabet (byte_alphabet.h).
struct BpeContent {
  std::string source;                                          // the file, for messages
  std::vector<std::pair<std::string, std::int64_t>> vocab;     // text, id
  std::vector<std::pair<std::string, std::string>> merges;     // earliest first
  std::vector<std::pair<std::string, std::int64_t>> specials;  // text, id; may stand in vocab too
};

class BpeTokenizer final : public Tokenizer {
 public:
  /// UserError for ids that are negative, too large or given twice, specials that contradict the vocabulary, merges
  /// that stand twice or whose parts or result are not in the vocabulary.
  explicit BpeTokenizer(const BpeContent& content);

  std::string_view kind() const override { return "byte-level BPE"; }
  bool is_lossless() const override { return true; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t unused_ids() const override { return unused_ids_; }
  /// Over vocabulary, merges and specials.
  const std::string& hash() const override { return hash_; }
  bool has_id(std::int32_t id) const override {
    return id >= 0 && id < vocab_size() && tokens_[static_cast<std::size_t>(id)].in_use;
  }
  bool is_special(std::int32_t id) const override {
    return has_id(id) && tokens_[static_cast<std::size_t>(id)].special;
  }
  /// Special tokens: those that the file lists, and those that no merging of bytes can make (vocab.json has no list).
  std::optional<std::int32_t> special_token_id(std::string_view text) const override;

  /// A BpeEncoder.
  std::unique_ptr<TextEncoder> make_encoder(std::size_t cache_bytes) const override;
  std::unique_ptr<TextCutter> make_cutter() const override;

  /// The bytes of the tokens, joined: decode(encode(text)) == text. Ids that were cut or generated may give invalid
  /// UTF-8.
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string to_json() const override;

 private:
  friend class BpeEncoder;

  struct Token {
    std::string text;   // as in the vocabulary
    std::string bytes;  // what it stands for
    bool in_use = false;
    bool special = false;
  };

  [[noreturn]] void refuse(const std::string& text, std::int64_t id, const std::string& reason) const;
  void make_room(const BpeContent& content);
  void add_token(const std::string& text, std::int64_t id);
  void add_merges(const BpeContent& content);
  void mark_specials(const BpeContent& content);
  std::string compute_hash() const;
  std::int32_t require(const BpeContent& content, std::size_t merge, const std::string& text) const;

  std::vector<Token> tokens_;  // by id
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<std::pair<std::int32_t, std::int32_t>> merge_list_;
  MergeTable merges_;
  std::array<std::int32_t, 256> byte_ids_{};  // -1: the byte has no token
  std::int64_t unused_ids_ = 0;
  std::string hash_;
  std::string source_;
  PreTokenizer pretokenizer_;
};

}  // namespace skipless
