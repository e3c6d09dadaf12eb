// The tokens of a tokenizer, by id and by text: what every kind of tokenizer checks, looks up and writes alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/tokenizer_hasher.h"

namespace skipless {

/// Tokens as a file lists them: text, id.
using TokenIds = std::vector<std::pair<std::string, std::int64_t>>;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using IdsByText = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

class TokenTable {
 public:
  struct Token {
    std::string text;  // as in the vocabulary
    bool in_use = false;
    bool special = false;
  };

  /// `source`: the file, for messages. UserError for an empty vocabulary, a text that stands twice, and ids that are
  /// negative, too large (Tokenizer::kMaxVocabSize) or given twice.
  TokenTable(std::string source, const TokenIds& vocab);

  /// They may stand in the vocabulary too. UserError where that has another id for the text, or another text for the
  /// id.
  void add_specials(const TokenIds& specials);
  void mark_special(std::int32_t id) { tokens_[static_cast<std::size_t>(id)].special = true; }

  const std::string& source() const { return source_; }
  /// By id, with gaps where no token is in use.
  const std::vector<Token>& tokens() const { return tokens_; }
  const std::string& text(std::int32_t id) const { return tokens_[static_cast<std::size_t>(id)].text; }
  /// Largest id + 1.
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t unused() const { return size() - static_cast<std::int64_t>(ids_.size()); }
  bool has(std::int32_t id) const { return id >= 0 && id < size() && tokens_[static_cast<std::size_t>(id)].in_use; }
  bool is_special(std::int32_t id) const { return has(id) && tokens_[static_cast<std::size_t>(id)].special; }
  std::optional<std::int32_t> find(std::string_view text) const;

  /// UserError: "token ... has the id ..., REASON".
  [[noreturn]] void refuse(std::int32_t id, const std::string& reason) const;
  /// UserError, with its position, for an id that no token has.
  void require(std::span<const std::int32_t> ids) const;

  /// The part of a tokenizer's hash that is over its tokens.
  void add_to(TokenizerHasher& hasher) const;
  /// Of a tokenizer.json: {"token": id, ...}, and the list 'added_tokens' of the special ones.
  nlohmann::json vocab_json() const;
  nlohmann::json added_tokens_json() const;

 private:
  void add(const std::string& text, std::int64_t id);
  [[noreturn]] void refuse(const std::string& text, std::int64_t id, const std::string& reason) const;

  std::string source_;
  std::vector<Token> tokens_;  // by id
  IdsByText ids_;
};

}  // namespace skipless
