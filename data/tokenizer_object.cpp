#include "data/tokenizer_object.h"

namespace skipless {

void read_added_tokens(const TokenizerObject& root, TokenizerReading& reading, TokenIds& specials) {
  const nlohmann::json* list = root.find("added_tokens");
  if (list == nullptr) return;
  if (!list->is_array()) root.fail(fmt::format("'added_tokens' is {}, expected a list", brief_json(*list)));
  for (std::size_t i = 0; i < list->size(); ++i) {
    const TokenizerObject token((*list)[i], reading, fmt::format("added_tokens[{}].", i));
    token.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    for (const std::string_view flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      token.absent_or(flag, {true, false});
    }
    token.require("special", "true");
    token.absent_or("special", {true});
    specials.emplace_back(token.text("content"), token.to_id("id", token.require("id", "an id")));
  }
}

void read_vocab(const TokenizerObject& vocab, TokenIds& ids) {
  ids.reserve(vocab.object().size());
  for (const auto& item : vocab.object().items()) {
    ids.emplace_back(item.key(), vocab.to_id(item.key(), item.value()));
  }
}

}  // namespace skipless
