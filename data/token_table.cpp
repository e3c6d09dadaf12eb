#include "data/token_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "configs/error.h"
#include "data/strict_json.h"
#include "data/tokenizer.h"

namespace skipless {

TokenTable::TokenTable(std::string source, const TokenIds& vocab) : source_(std::move(source)) {
  if (vocab.empty()) throw UserError(fmt::format("'{}': the vocabulary is empty", source_));
  ids_.reserve(vocab.size());
  for (const auto& [text, id] : vocab) {
    if (ids_.contains(text)) refuse(text, id, "and stands twice in the vocabulary");
    add(text, id);
  }
}

void TokenTable::add_specials(const TokenIds& specials) {
  for (const auto& [text, id] : specials) {
    add(text, id);
    mark_special(static_cast<std::int32_t>(id));
  }
}

void TokenTable::add(const std::string& text, std::int64_t id) {
  if (id < 0 || id >= Tokenizer::kMaxVocabSize) {
    refuse(text, id, fmt::format("allowed are 0 to {}", Tokenizer::kMaxVocabSize - 1));
  }
  const auto [place, is_new] = ids_.emplace(text, static_cast<std::int32_t>(id));
  if (!is_new) {
    if (place->second != id) refuse(text, id, fmt::format("and {} too", place->second));
    return;
  }
  if (id >= size()) tokens_.resize(static_cast<std::size_t>(id) + 1);
  Token& token = tokens_[static_cast<std::size_t>(id)];
  if (token.in_use) refuse(text, id, fmt::format("which {} has too", brief_json(token.text)));
  token = {.text = text, .in_use = true};
}

void TokenTable::refuse(const std::string& text, std::int64_t id, const std::string& reason) const {
  throw UserError(fmt::format("'{}': token {} has the id {}, {}", source_, brief_json(text), id, reason));
}

void TokenTable::refuse(std::int32_t id, const std::string& reason) const {
  refuse(text(id), id, reason);
}

std::optional<std::int32_t> TokenTable::find(std::string_view text) const {
  const auto place = ids_.find(text);
  return place == ids_.end() ? std::nullopt : std::optional(place->second);
}

void TokenTable::require(std::span<const std::int32_t> ids) const {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (has(ids[i])) continue;
    throw UserError(fmt::format("id {} at position {} is no token of '{}' (0 to {}{})", ids[i], i, source_, size() - 1,
                                unused() > 0 ? ", with gaps" : ""));
  }
}

void TokenTable::add_to(TokenizerHasher& hasher) const {
  hasher.add(ids_.size());
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!tokens_[id].in_use) continue;
    hasher.add(id);
    hasher.add(tokens_[id].text);
    hasher.add(tokens_[id].special ? 1 : 0);
  }
}

nlohmann::json TokenTable::vocab_json() const {
  auto vocab = nlohmann::json::object();
  for (const auto& [text, id] : ids_) vocab[text] = id;
  return vocab;
}

nlohmann::json TokenTable::added_tokens_json() const {
  auto list = nlohmann::json::array();
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!tokens_[id].special) continue;
    list.push_back({{"id", id},
                    {"content", tokens_[id].text},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
  }
  return list;
}

}  // namespace skipless
