// A WordPiece tokenizer, as BERT has it: vocabulary, special tokens and how text is read, checked and immutable. Text
// becomes ids in wordpiece_encoder.h; files are read in tokenizer_file.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/bert_normalizer.h"
#include "data/tokenizer.h"

namespace skipless {

/// What a tokenizer file says.
struct WordPieceContent {
  std::string source;                                          // the file, for messages
  std::vector<std::pair<std::string, std::int64_t>> vocab;     // text, id
  std::vector<std::pair<std::string, std::int64_t>> specials;  // text, id; may stand in vocab too
  std::string unknown = "[UNK]";
  std::string prefix = "##";        // of tokens that go on a word
  std::int64_t longest_word = 100;  // code points, after normalization; longer ones are unknown
  BertNormalizerConfig normalizer{};
  bool clean_up = true;  // decode() takes the blank before punctuation and contractions away
};

class WordPieceTokenizer final : public Tokenizer {
 public:
  /// UserError for ids that are negative, too large or given twice, specials that contradict the vocabulary, and a
  /// vocabulary without the unknown token.
  explicit WordPieceTokenizer(const WordPieceContent& content);

  std::string_view kind() const override { return normalizer_.config().lowercase ? "WordPiece, uncased" : "WordPiece"; }
  bool is_lossless() const override { return false; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t unused_ids() const override { return unused_ids_; }
  /// Over vocabulary, specials, the settings of the normalizer, the prefix, the unknown token and the longest word.
  const std::string& hash() const override { return hash_; }
  bool has_id(std::int32_t id) const override {
    return id >= 0 && id < vocab_size() && tokens_[static_cast<std::size_t>(id)].in_use;
  }
  bool is_special(std::int32_t id) const override {
    return has_id(id) && tokens_[static_cast<std::size_t>(id)].special;
  }
  /// Special tokens: those that the file lists, the unknown token, and [PAD], [UNK], [CLS], [SEP], [MASK] where the
  /// vocabulary has them. A word that spells one is cut into other tokens; only the unknown token stands for text.
  std::optional<std::int32_t> special_token_id(std::string_view text) const override;

  /// A WordPieceEncoder.
  std::unique_ptr<TextEncoder> make_encoder(std::size_t cache_bytes) const override;
  std::unique_ptr<TextCutter> make_cutter() const override;

  /// Tokens joined by blanks, those with the prefix to the token before, as the decoder of the `tokenizers` package
  /// joins them. What normalization took away is not given back.
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string to_json() const override;

 private:
  friend class WordPieceEncoder;
  friend class WordPieceCutter;

  struct Token {
    std::string text;
    bool in_use = false;
    bool special = false;
  };

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  /// Tokens that words begin with, or go on with (without the prefix).
  struct Pieces {
    std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> ids;
    std::size_t longest = 0;  // bytes

    void add(std::string_view text, std::int32_t id);
    /// The longest one that `text` begins with; its length, 0 where there is none.
    std::size_t find(std::string_view text, std::int32_t& id) const;
  };

  [[noreturn]] void refuse(const std::string& text, std::int64_t id, const std::string& reason) const;
  void make_room(const WordPieceContent& content);
  void add_token(const std::string& text, std::int64_t id);
  void mark_specials(const WordPieceContent& content);
  void list_pieces();
  std::string compute_hash() const;

  /// Appends the ids of a word (BertNormalizer::normalize).
  void append_pieces(std::string_view word, std::vector<std::int32_t>& ids) const;

  std::vector<Token> tokens_;  // by id
  std::unordered_map<std::string, std::int32_t> ids_;
  Pieces first_;
  Pieces next_;
  std::int32_t unknown_ = 0;
  std::string prefix_;
  std::int64_t longest_word_;
  bool clean_up_;
  BertNormalizer normalizer_;
  std::int64_t unused_ids_ = 0;
  std::string hash_;
  std::string source_;
};

}  // namespace skipless
