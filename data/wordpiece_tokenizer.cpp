#include "data/wordpiece_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "configs/error.h"
#include "data/strict_json.h"
#include "data/tokenizer_hasher.h"
#include "data/wordpiece_encoder.h"

namespace skipless {
namespace {

constexpr std::array<const char*, 5> kBertSpecials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// What the decoder of the `tokenizers` package does to each token and the blank before it.
void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kChanges) replace_all(text, from, to);
}

}  // namespace

void WordPieceTokenizer::Pieces::add(std::string_view text, std::int32_t id) {
  ids.emplace(text, id);
  longest = std::max(longest, text.size());
}

std::size_t WordPieceTokenizer::Pieces::find(std::string_view text, std::int32_t& id) const {
  std::size_t end = std::min(text.size(), longest);
  while (end > 0 && end < text.size() && is_inside_character(text[end])) --end;
  while (end > 0) {
    const auto place = ids.find(text.substr(0, end));
    if (place != ids.end()) {
      id = place->second;
      return end;
    }
    --end;
    while (end > 0 && is_inside_character(text[end])) --end;
  }
  return 0;
}

WordPieceTokenizer::WordPieceTokenizer(const WordPieceContent& content)
    : prefix_(content.prefix),
      longest_word_(content.longest_word),
      clean_up_(content.clean_up),
      normalizer_(content.normalizer),
      source_(content.source) {
  if (content.vocab.empty()) throw UserError(fmt::format("'{}': the vocabulary is empty", source_));
  make_room(content);
  for (const auto& [text, id] : content.vocab) {
    if (ids_.contains(text)) refuse(text, id, "and stands twice in the vocabulary");
    add_token(text, id);
  }
  const auto unknown = ids_.find(content.unknown);
  if (unknown == ids_.end()) {
    throw UserError(
        fmt::format("'{}': the unknown token {} is not in the vocabulary", source_, brief_json(content.unknown)));
  }
  unknown_ = unknown->second;
  for (const auto& [text, id] : content.specials) add_token(text, id);
  mark_specials(content);
  list_pieces();
  unused_ids_ = vocab_size() - static_cast<std::int64_t>(ids_.size());
  hash_ = compute_hash();
}

void WordPieceTokenizer::refuse(const std::string& text, std::int64_t id, const std::string& reason) const {
  throw UserError(fmt::format("'{}': token {} has the id {}, {}", source_, brief_json(text), id, reason));
}

void WordPieceTokenizer::make_room(const WordPieceContent& content) {
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

void WordPieceTokenizer::add_token(const std::string& text, std::int64_t id) {
  const auto [place, is_new] = ids_.emplace(text, static_cast<std::int32_t>(id));
  if (!is_new) {
    if (place->second != id) refuse(text, id, fmt::format("and {} too", place->second));
    return;
  }
  Token& token = tokens_[static_cast<std::size_t>(id)];
  if (token.in_use) refuse(text, id, fmt::format("which {} has too", brief_json(token.text)));
  token = {.text = text, .in_use = true};
}

void WordPieceTokenizer::mark_specials(const WordPieceContent& content) {
  tokens_[static_cast<std::size_t>(unknown_)].special = true;
  for (const auto& [text, id] : content.specials) tokens_[static_cast<std::size_t>(id)].special = true;
  for (const char* text : kBertSpecials) {
    const auto place = ids_.find(text);
    if (place != ids_.end()) tokens_[static_cast<std::size_t>(place->second)].special = true;
  }
}

void WordPieceTokenizer::list_pieces() {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    if (!token.in_use || token.special) continue;
    const auto id = static_cast<std::int32_t>(i);
    first_.add(token.text, id);
    if (token.text.starts_with(prefix_)) next_.add(std::string_view(token.text).substr(prefix_.size()), id);
  }
}

std::string WordPieceTokenizer::compute_hash() const {
  TokenizerHasher hasher;
  hasher.add("skipless WordPiece 1");
  const BertNormalizerConfig& normalizer = normalizer_.config();
  for (const bool setting :
       {normalizer.clean_text, normalizer.handle_chinese_chars, normalizer.strips_accents(), normalizer.lowercase}) {
    hasher.add(setting ? 1 : 0);
  }
  hasher.add(prefix_);
  hasher.add(static_cast<std::uint64_t>(unknown_));
  hasher.add(static_cast<std::uint64_t>(longest_word_));
  hasher.add(ids_.size());
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (!tokens_[id].in_use) continue;
    hasher.add(id);
    hasher.add(tokens_[id].text);
    hasher.add(tokens_[id].special ? 1 : 0);
  }
  return hasher.hex();
}

std::optional<std::int32_t> WordPieceTokenizer::special_token_id(std::string_view text) const {
  const auto place = ids_.find(std::string(text));
  if (place == ids_.end() || !tokens_[static_cast<std::size_t>(place->second)].special) return std::nullopt;
  return place->second;
}

std::unique_ptr<TextEncoder> WordPieceTokenizer::make_encoder(std::size_t cache_bytes) const {
  return std::make_unique<WordPieceEncoder>(*this, cache_bytes);
}

std::unique_ptr<TextCutter> WordPieceTokenizer::make_cutter() const {
  return std::make_unique<WordPieceCutter>(*this);
}

void WordPieceTokenizer::append_pieces(std::string_view word, std::vector<std::int32_t>& ids) const {
  std::string text;
  if (!normalizer_.normalize(word, static_cast<std::size_t>(longest_word_), text)) return ids.push_back(unknown_);
  const std::size_t before = ids.size();
  for (std::size_t at = 0; at < text.size();) {
    std::int32_t id = 0;
    const std::size_t length = (at == 0 ? first_ : next_).find(std::string_view(text).substr(at), id);
    if (length == 0) {
      ids.resize(before);
      return ids.push_back(unknown_);
    }
    ids.push_back(id);
    at += length;
  }
}

std::string WordPieceTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string all;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!has_id(ids[i])) {
      throw UserError(fmt::format("id {} at position {} is no token of '{}' (0 to {}{})", ids[i], i, source_,
                                  vocab_size() - 1, unused_ids_ > 0 ? ", with gaps" : ""));
    }
    std::string text = tokens_[static_cast<std::size_t>(ids[i])].text;
    if (i > 0) text = text.starts_with(prefix_) ? text.substr(prefix_.size()) : fmt::format(" {}", text);
    if (clean_up_) clean_up(text);
    all += text;
  }
  return all;
}

std::string WordPieceTokenizer::to_json() const {
  using json = nlohmann::json;
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
  json post_processor;
  const auto begin = special_token_id("[CLS]"), end = special_token_id("[SEP]");
  if (begin && end) post_processor = {{"type", "BertProcessing"}, {"sep", {"[SEP]", *end}}, {"cls", {"[CLS]", *begin}}};
  const BertNormalizerConfig& normalizer = normalizer_.config();
  const json strip_accents = normalizer.strip_accents ? json(*normalizer.strip_accents) : json();
  const json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", specials},
                     {"normalizer",
                      {{"type", "BertNormalizer"},
                       {"clean_text", normalizer.clean_text},
                       {"handle_chinese_chars", normalizer.handle_chinese_chars},
                       {"strip_accents", strip_accents},
                       {"lowercase", normalizer.lowercase}}},
                     {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                     {"post_processor", post_processor},
                     {"decoder", {{"type", "WordPiece"}, {"prefix", prefix_}, {"cleanup", clean_up_}}},
                     {"model",
                      {{"type", "WordPiece"},
                       {"unk_token", tokens_[static_cast<std::size_t>(unknown_)].text},
                       {"continuing_subword_prefix", prefix_},
                       {"max_input_chars_per_word", longest_word_},
                       {"vocab", vocab}}}};
  return root.dump() + "\n";
}

}  // namespace skipless
