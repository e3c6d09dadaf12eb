#include "data/bpe_tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "configs/error.h"
#include "data/bpe_encoder.h"
#include "data/byte_alphabet.h"
#include "data/strict_json.h"
#include "data/text_cut.h"

namespace skipless {

BpeTokenizer::BpeTokenizer(const BpeContent& content)
    : TableTokenizer({content.source, content.vocab}), merges_(content.merges.size()) {
  add_merges(content);  // before the specials, which are no parts of merges
  tokens_.add_specials(content.specials);
  mark_specials();
  // A token outside the alphabet (a special one) stands for its own text.
  for (const auto& token : tokens_.tokens()) bytes_.push_back(from_byte_alphabet(token.text).value_or(token.text));
  hash_ = compute_hash();
}

std::int32_t BpeTokenizer::require(const BpeContent& content, std::size_t merge, const std::string& text) const {
  if (const auto id = tokens_.find(text)) return *id;
  const auto& [left, right] = content.merges[merge];
  throw UserError(fmt::format("'{}': merge {} ({} + {}) needs the token {}, which is not in the vocabulary",
                              content.source, merge + 1, brief_json(left), brief_json(right), brief_json(text)));
}

void BpeTokenizer::add_merges(const BpeContent& content) {
  merge_list_.reserve(content.merges.size());
  for (std::size_t i = 0; i < content.merges.size(); ++i) {
    const auto& [left, right] = content.merges[i];
    const std::int32_t left_id = require(content, i, left);
    const std::int32_t right_id = require(content, i, right);
    const std::int32_t token = require(content, i, left + right);
    if (!merges_.insert(left_id, right_id, {.rank = static_cast<std::int32_t>(i), .token = token})) {
      throw UserError(fmt::format("'{}': merge {} ({} + {}) stands twice", content.source, i + 1, brief_json(left),
                                  brief_json(right)));
    }
    merge_list_.emplace_back(left_id, right_id);
  }
}

void BpeTokenizer::mark_specials() {
  std::vector<bool> reachable(tokens_.tokens().size(), false);
  for (int byte = 0; byte < 256; ++byte) {
    const auto id = tokens_.find(alphabet_character(static_cast<std::uint8_t>(byte)));
    byte_ids_[static_cast<std::size_t>(byte)] = id.value_or(-1);
    if (id) reachable[static_cast<std::size_t>(*id)] = true;
  }
  for (const auto& [left, right] : merge_list_) {
    reachable[static_cast<std::size_t>(merges_.find(left, right).token)] = true;
  }
  for (std::int32_t id = 0; id < vocab_size(); ++id) {
    if (!has_id(id)) continue;
    if (!reachable[static_cast<std::size_t>(id)]) {
      tokens_.mark_special(id);
    } else if (is_special(id)) {
      tokens_.refuse(id, "and is both a special token and what ordinary text becomes; one of the two is expected");
    }
  }
}

std::string BpeTokenizer::compute_hash() const {
  TokenizerHasher hasher;
  hasher.add("skipless byte-level BPE 1, pieces of GPT-2");
  tokens_.add_to(hasher);
  hasher.add(merge_list_.size());
  for (const auto& [left, right] : merge_list_) {
    hasher.add(static_cast<std::uint64_t>(left));
    hasher.add(static_cast<std::uint64_t>(right));
  }
  return hasher.hex();
}

std::unique_ptr<TextEncoder> BpeTokenizer::make_encoder(std::size_t cache_bytes) const {
  return std::make_unique<BpeEncoder>(*this, cache_bytes);
}

std::unique_ptr<TextCutter> BpeTokenizer::make_cutter() const {
  return std::make_unique<ByteLevelCutter>();
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> ids) const {
  tokens_.require(ids);
  std::string text;
  for (const std::int32_t id : ids) text += bytes_[static_cast<std::size_t>(id)];
  return text;
}

std::string BpeTokenizer::to_json() const {
  using json = nlohmann::json;
  const auto byte_level = [](bool trim_offsets) {
    return json{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", trim_offsets}, {"use_regex", true}};
  };
  json merges = json::array();
  for (const auto& [left, right] : merge_list_) merges.push_back({tokens_.text(left), tokens_.text(right)});
  const json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", tokens_.added_tokens_json()},
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
                       {"vocab", tokens_.vocab_json()},
                       {"merges", merges}}}};
  return root.dump() + "\n";
}

}  // namespace skipless
