// A WordPiece tokenizer, as BERT has it: vocabulary, special tokens and how text is read, checked and immutable. Text
// becomes ids in wordpiece_encoder.h; files are read in tokenizer_file.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/bert_normalizer.h"
#include "data/table_tokenizer.h"

namespace skipless {

/// What a tokenizer file says.
struct WordPieceContent {
  std::string source;  // the file, for messages
  TokenIds vocab;
  TokenIds specials;  // may stand in vocab too
  std::string unknown = "[UNK]";
  std::string prefix = "##";        // of tokens that go on a word
  std::int64_t longest_word = 100;  // code points, after normalization; longer ones are unknown
  BertNormalizerConfig normalizer{};
  bool clean_up = true;  // decode() takes the blank before punctuation and contractions away
};

/// Its hash is over vocabulary, specials, the settings of the normalizer, the prefix, the unknown token and the longest
/// word. Special tokens: those that the file lists, the unknown token, and [PAD], [UNK], [CLS], [SEP], [MASK] where the
/// vocabulary has them. A word that spells one is cut into other tokens; only the unknown token stands for text.
class WordPieceTokenizer final : public TableTokenizer {
 public:
  /// UserError for ids that are negative, too large or given twice, specials that contradict the vocabulary, and a
  /// vocabulary without the unknown token.
  explicit WordPieceTokenizer(const WordPieceContent& content);

  std::string_view kind() const override { return normalizer_.config().lowercase ? "WordPiece, uncased" : "WordPiece"; }
  bool is_lossless() const override { return false; }

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

  /// Tokens that words begin with, or go on with (without the prefix).
  struct Pieces {
    IdsByText ids;
    std::size_t longest = 0;  // bytes

    void add(std::string_view text, std::int32_t id);
    /// The longest one that `text` begins with; its length, 0 where there is none.
    std::size_t find(std::string_view text, std::int32_t& id) const;
  };

  void list_pieces();
  std::string compute_hash() const;

  /// Appends the ids of a word (BertNormalizer::normalize).
  void append_pieces(std::string_view word, std::vector<std::int32_t>& ids) const;

  Pieces first_;
  Pieces next_;
  std::int32_t unknown_ = 0;
  std::string prefix_;
  std::int64_t longest_word_;
  bool clean_up_;
  BertNormalizer normalizer_;
};

}  // namespace skipless
