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

namespace skipless {

/// What a tokenizer file says. Token texts are in the byte alphabet (byte_alphabet.h).
struct BpeContent {
  std::string source;                                          // the file, for messages
  std::vector<std::pair<std::string, std::int64_t>> vocab;     // text, id
  std::vector<std::pair<std::string, std::string>> merges;     // earliest first
  std::vector<std::pair<std::string, std::int64_t>> specials;  // text, id; may stand in vocab too
};

class BpeTokenizer {
 public:
  /// One more than the largest id that a tokenizer may use.
  static constexpr std::int64_t kMaxVocabSize = std::int64_t{1} << 24;

  /// UserError for ids that are negative, too large or given twice, specials that contradict the vocabulary, merges
  /// that stand twice or whose parts or result are not in the vocabulary.
  explicit BpeTokenizer(const BpeContent& content);

  /// Largest id + 1: what a model's embedding needs. Ids may have gaps.
  std::int64_t vocab_size() const { return static_cast<std::int64_t>(tokens_.size()); }
  /// Ids below vocab_size() that no token has.
  std::int64_t unused_ids() const { return unused_ids_; }

  /// 32 hexadecimal digits (XXH3, 128 bits) over vocabulary, merges and specials: equal for the two kinds of files of
  /// one tokenizer.
  const std::string& hash() const { return hash_; }

  /// Whether a token has this id, and whether it is a special one.
  bool has_id(std::int32_t id) const {
    return id >= 0 && id < vocab_size() && tokens_[static_cast<std::size_t>(id)].in_use;
  }
  bool is_special(std::int32_t id) const { return has_id(id) && tokens_[static_cast<std::size_t>(id)].special; }

  /// Special tokens: those that the file lists, and those that no merging of bytes can make (vocab.json has no list).
  /// Text never becomes one, even where it spells one: only a pipeline inserts them, by this id.
  std::optional<std::int32_t> special_token_id(std::string_view text) const;

  /// Ids of `text`; see BpeEncoder, which is faster for more than one text.
  std::vector<std::int32_t> encode(std::string_view text) const;

  /// The bytes of the tokens, joined: decode(encode(text)) == text. Ids that were cut or generated may give invalid
  /// UTF-8. A special token gives its name. UserError for an id that no token has.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// The equivalent tokenizer.json, as the `tokenizers` package reads it.
  std::string to_json() const;

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
