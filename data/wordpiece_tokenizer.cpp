#include "data/wordpiece_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "configs/error.h"
#include "configs/utf8.h"
#include "data/strict_json.h"
#include "data/wordpiece_encoder.h"

namespace skipless {
namespace {

constexpr std::array<const char*, 5> kBertSpecials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

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
    : TableTokenizer({content.source, content.vocab}),
      prefix_(content.prefix),
      longest_word_(content.longest_word),
      clean_up_(content.clean_up),
      normalizer_(content.normalizer) {
  const auto unknown = tokens_.find(content.unknown);
  if (!unknown) {
    throw UserError(fmt::format("'{}': the unknown token {} is not in the vocabulary", content.source,
                                brief_json(content.unknown)));
  }
  unknown_ = *unknown;
  tokens_.add_specials(content.specials);
  tokens_.mark_special(unknown_);
  for (const char* text : kBertSpecials) {
    if (const auto id = tokens_.find(text)) tokens_.mark_special(*id);
  }
  list_pieces();
  hash_ = compute_hash();
}

void WordPieceTokenizer::list_pieces() {
  for (std::int32_t id = 0; id < vocab_size(); ++id) {
    if (!has_id(id) || is_special(id)) continue;
    const std::string_view text = tokens_.text(id);
    first_.add(text, id);
    if (text.starts_with(prefix_)) next_.add(text.substr(prefix_.size()), id);
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
  tokens_.add_to(hasher);
  return hasher.hex();
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
  tokens_.require(ids);
  std::string all;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::string text = tokens_.text(ids[i]);
    if (i > 0) text = text.starts_with(prefix_) ? text.substr(prefix_.size()) : fmt::format(" {}", text);
    if (clean_up_) clean_up(text);
    all += text;
  }
  return all;
}

std::string WordPieceTokenizer::to_json() const {
  using json = nlohmann::json;
  json post_processor;
  const auto begin = special_token_id("[CLS]"), end = special_token_id("[SEP]");
  if (begin && end) post_processor = {{"type", "BertProcessing"}, {"sep", {"[SEP]", *end}}, {"cls", {"[CLS]", *begin}}};
  const BertNormalizerConfig& normalizer = normalizer_.config();
  const json strip_accents = normalizer.strip_accents ? json(*normalizer.strip_accents) : json();
  const json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", tokens_.added_tokens_json()},
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
                       {"unk_token", tokens_.text(unknown_)},
                       {"continuing_subword_prefix", prefix_},
                       {"max_input_chars_per_word", longest_word_},
                       {"vocab", tokens_.vocab_json()}}}};
  return root.dump() + "\n";
}

}  // namespace skipless
