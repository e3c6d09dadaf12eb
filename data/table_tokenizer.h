// What tokenizers answer from their table of tokens, whatever their kind.
#pragma once

#include <utility>

#include "data/token_table.h"
#include "data/tokenizer.h"

namespace skipless {

class TableTokenizer : public Tokenizer {
 public:
  std::int64_t vocab_size() const final { return tokens_.size(); }
  std::int64_t unused_ids() const final { return tokens_.unused(); }
  const std::string& hash() const final { return hash_; }
  bool has_id(std::int32_t id) const final { return tokens_.has(id); }
  bool is_special(std::int32_t id) const final { return tokens_.is_special(id); }
  std::optional<std::int32_t> special_token_id(std::string_view text) const final {
    const auto id = tokens_.find(text);
    return id && is_special(*id) ? id : std::nullopt;
  }

 protected:
  explicit TableTokenizer(TokenTable tokens) : tokens_(std::move(tokens)) {}

  TokenTable tokens_;
  std::string hash_;
};

}  // namespace skipless
