#include "data/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "configs/error.h"
#include "data/bpe_encoder.h"
#include "data/byte_alphabet.h"
#include "data/strict_json.h"
#include "data/text_cut.h"
#include "data/tokenizer_hasher.h"

namespace skipless {
BpeTokenizer::BpeTokenizer(const BpeContent& content) : merges_(content.merges.size()), source_(content.source) {
  if (content.vocab.empty()) throw UserError(fmt::format("'{}': the vocabulary is empty", source_));
  make_room(content);
  for (const auto& [text, id] : content.vocab) {
    if (ids_.contains(text)) refuse(text, id, "and stands twice in the vocabulary");
    add_token(text, id);
  }
  add_merges(content);  // before the specials, which are no parts of merges
  for (const auto& [text, id] : content.specials) add_token(text, id);
  mark_specials(content);
  unused_ids_ = vocab_size() - static_cast<std::int64_t>(ids_.size());
  hash_ = compute_hash();
}

void BpeTokenizer::refuse(const std::string& text, std::int64_t id, const std::string& reason) const {
  throw UserError(fmt::format("'{}': token {} has the id {}, {}", source_, brief_json(text), id, reason));
}

void BpeTokenizer::make_room(const BpeContent& content) {
  std::int64_t largest = 0;
  for (const auto* list : {&content.vocab, &content.specials}) {
    for (const auto& [text, id] : *list) {
      if (id < 0 || id >= kMaxVocabSize) refuse(text, id, fmt::format("allowed are 0 to {}", kMaxVocabSize - 1));
      largest = std::max(largest, id);
    }
  }
  tokens_.resize(static_cast<std::size_t>(largest) + 1);
  ids_.reserve(content.vocab.size() + content.specials.size());
}

void BpeTokenizer::add_token(const std::string& text, std::int64_t id) {
  const auto [place, is_new] = ids_.emplace(text, static_cast<std::int32_t>(id));
  if (!is_new) {
    if (place->second != id) refuse(text, id, fmt::format("and {} too", place->second));
    return;
  }
  Token& token = tokens_[static_cast<std::size_t>(id)];
  if (token.in_use) refuse(text, id, fmt::format("which {} has too", brief_json(token.text)));
  // A token outside the alphabet (a special one) stands for its own text.
  token = {.text = text, .bytes = from_byte_alphabet(text).value_or(text), .in_use = true};
}

std::int32_t BpeTokenizer::require(const BpeContent& content, std::size_t merge, const std::string& text) const {
  const auto place = ids_.find(text);
  if (place != ids_.end()) return place->second;
  const auto& [left, right] = content.merges[merge];
  throw UserError(fmt::format("'{}': merge {} ({} + {}) needs the token {}, which is not in the vocabulary", source_,
                              merge + 1, brief_json(left), brief_json(right), brief_json(text)));
}

void BpeTokenizer::add_merges(const BpeContent& content) {
  merge_list_.reserve(content.merges.size());
  for (std::size_t i = 0; i < content.merges.size(); ++i) {
    const auto& [left, right] = content.merges[i];
    const std::int32_t left_id = require(content, i, left);
    const std::int32_t right_id = require(content, i, right);
    const std::int32_t token = require(content, i, left + right);
    if (!merges_.insert(left_id, right_id, {.rank = static_cast<std::int32_t>(i), .token = token})) {
      throw UserError(
          fmt::format("'{}': merge {} ({} + {}) stands twice", source_, i + 1, brief_json(left), brief_json(right)));
    }
    merge_list_.emplace_back(left_id, right_id);
  }
}

void BpeTokenizer::mark_specials(const BpeContent& content) {
  std::vector<bool> reachable(tokens_.size(), false);
  for (int byte = 0; byte < 256; ++byte) {
    const auto place = ids_.find(alphabet_character(static_cast<std::uint8_t>(byte)));
    byte_ids_[static_cast<std::size_t>(byte)] = place == ids_.end() ? -1 : place->second;
    if (place != ids_.end()) reachable[static_cast<std::size_t>(place->second)] = true;
  }
  for (const auto& [left, right] : merge_list_) {
    reachable[static_cast<std::size_t>(merges_.find(left, right).token)] = true;
  }
  for (std::size_t id = 0; id < tokens_.size(); ++id) tokens_[id].special = tokens_[id].in_use && !reachable[id];
  for (const auto& [text, id] : content.specials) {
    if (reachable[static_cast<std::size_t>(id)]) {
      refuse(text, id, "and is both a special token and what ordinary text becomes; one of the two is expected");
    }
  }
}

std::string BpeTokenizer::compute_hash() const {
  TokenizerHasher hasher;
  hasher.add("skipless byte-level BPE 1, pieces of GPT-2");
  hasher.add(ids_.size());
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!tokens_[id].in_use) continue;
    hasher.add(id);
    hasher.add(tokens_[id].text);
    hasher.add(tokens_[id].special ? 1 : 0);
  }
  hasher.add(merge_list_.size());
  for (const auto& [left, right] : merge_list_) {
    hasher.add(static_cast<std::uint64_t>(left));
    hasher.add(static_cast<std::uint64_t>(right));
  }
  return hasher.hex();
}

std::optional<std::int32_t> BpeTokenizer::special_token_id(std::string_view text) const {
  const auto place = ids_.find(std::string(text));
  if (place == ids_.end() || !tokens_[static_cast<std::size_t>(place->second)].special) return std::nullopt;
  return place->second;
}

std::unique_ptr<TextEncoder> BpeTokenizer::make_encoder(std::size_t cache_bytes) const {
  return std::make_unique<BpeEncoder>(*this, cache_bytes);
}

std::unique_ptr<TextCutter> BpeTokenizer::make_cutter() const {
  return std::make_unique<ByteLevelCutter>();
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int32_t id = ids[i];
    if (id < 0 || id >= vocab_size() || !tokens_[static_cast<std::size_t>(id)].in_use) {
      throw UserError(fmt::format("id {} at position {} is no token of '{}' (0 to {}{})", id, i, source_,
                                  vocab_size() - 1, unused_ids_ > 0 ? ", with gaps" : ""));
    }
    text += tokens_[static_cast<std::size_t>(id)].bytes;
  }
  return text;
}

std::string BpeTokenizer::to_json() const {
  using json = nlohmann::json;
  const auto byte_level = [](bool trim_offsets) {
    return json{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", trim_offsets}, {"use_regex", true}};
  };
  json specials = json::array();
  json vocab = json::object();
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    const Token& token = tokens_[id];
    if (!token.in_use) continue;
    vocab[token.text] = id;
    if (!token.special) continue;
    specials.push_back({{"id", id},
                        {"content", token.text},
                        {"single_word", false},
                        {"lstrip", false},
                        {"rstrip", false},
                        {"normalized", false},
                        {"special", true}});
  }
  json merges = json::array();
  for (const auto& [left, right] : merge_list_) {
    merges.push_back({tokens_[static_cast<std::size_t>(left)].text, tokens_[static_cast<std::size_t>(right)].text});
  }
  const json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", specials},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", byte_level(true)},
                     {"post_processor", nullptr},
                     {"decoder", byte_level(true)},
                     {"model",
                      {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", false},
                       {"vocab", vocab},
                       {"merges", merges}}}};
  return root.dump() + "\n";
}

}  // namespace skipless
