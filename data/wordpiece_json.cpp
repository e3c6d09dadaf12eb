#include "data/wordpiece_json.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "configs/error.h"
#include "configs/utf8.h"
#include "data/strict_json.h"
#include "data/text_lines.h"
#include "data/tokenizer_object.h"

namespace skipless {
namespace {

using nlohmann::json;

constexpr std::int64_t kLongestWord = 1'000'000;

bool read_flag(const TokenizerObject& object, std::string_view key) {
  const json& value = object.require(key, "true or false");
  if (!value.is_boolean()) object.fail_at(key, "true or false");
  return value.get<bool>();
}

std::optional<bool> read_optional_flag(const TokenizerObject& object, std::string_view key) {
  const json* value = object.find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (!value->is_boolean()) object.fail_at(key, "true, false or null");
  return value->get<bool>();
}

void read_normalizer(const TokenizerObject& root, TokenizerReading& reading, BertNormalizerConfig& config) {
  const json& value = root.require("normalizer", "BertNormalizer");
  if (type_of(&value) != "BertNormalizer") return root.unsupported("normalizer", R"({"type": "BertNormalizer", ...})");
  const TokenizerObject normalizer(value, reading, "normalizer.");
  normalizer.only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  config = {.clean_text = read_flag(normalizer, "clean_text"),
            .handle_chinese_chars = read_flag(normalizer, "handle_chinese_chars"),
            .strip_accents = read_optional_flag(normalizer, "strip_accents"),
            .lowercase = read_flag(normalizer, "lowercase")};
}

void check_pre_tokenizer(const TokenizerObject& root, TokenizerReading& reading) {
  const json& value = root.require("pre_tokenizer", "BertPreTokenizer");
  if (type_of(&value) != "BertPreTokenizer") {
    return root.unsupported("pre_tokenizer", R"({"type": "BertPreTokenizer"})");
  }
  TokenizerObject(value, reading, "pre_tokenizer.").only({"type"});
}

/// How long sequences are is the run's affair: the lengths that a file names are without effect.
void check_truncation(const TokenizerObject& root, TokenizerReading& reading) {
  const json* value = root.find("truncation");
  if (value == nullptr || value->is_null()) return;
  const TokenizerObject truncation(*value, reading, "truncation.");
  truncation.only({"direction", "max_length", "strategy", "stride"});
  truncation.absent_or("direction", {"Right"});
  truncation.absent_or("strategy", {"LongestFirst"});
  truncation.absent_or("stride", {0});
}

void check_padding(const TokenizerObject& root, TokenizerReading& reading) {
  const json* value = root.find("padding");
  if (value == nullptr || value->is_null()) return;
  const TokenizerObject padding(*value, reading, "padding.");
  padding.only({"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"});
  padding.absent_or("direction", {"Right"});
  padding.absent_or("pad_type_id", {0});
  padding.absent_or("pad_token", {"[PAD]"});
}

json id_of(const WordPieceContent& content, std::string_view text) {
  for (const auto* list : {&content.specials, &content.vocab}) {
    for (const auto& [token, id] : *list) {
      if (token == text) return id;
    }
  }
  return nullptr;
}

/// [CLS] A [SEP] and [CLS] A [SEP] B [SEP], in both ways in which files say so.
void check_post_processor(const TokenizerObject& root, TokenizerReading& reading, const WordPieceContent& content) {
  const json* value = root.find("post_processor");
  if (value == nullptr || value->is_null()) return;
  const json begin = id_of(content, "[CLS]"), end = id_of(content, "[SEP]");
  const TokenizerObject processor(*value, reading, "post_processor.");
  if (type_of(value) == "BertProcessing") {
    processor.only({"type", "sep", "cls"});
    processor.absent_or("sep", {json::array({"[SEP]", end})});
    processor.absent_or("cls", {json::array({"[CLS]", begin})});
    return;
  }
  if (type_of(value) != "TemplateProcessing") {
    return root.unsupported("post_processor", "null, BertProcessing or the TemplateProcessing of BERT");
  }
  const auto special = [](const char* text, int type) {
    return json{{"SpecialToken", {{"id", text}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const auto entry = [](const char* text, const json& id) {
    return json{{"id", text}, {"ids", json::array({id})}, {"tokens", json::array({text})}};
  };
  processor.only({"type", "single", "pair", "special_tokens"});
  processor.absent_or("single", {json::array({special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)})});
  processor.absent_or("pair", {json::array({special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0),
                                            sequence("B", 1), special("[SEP]", 1)})});
  processor.absent_or("special_tokens", {json{{"[CLS]", entry("[CLS]", begin)}, {"[SEP]", entry("[SEP]", end)}}});
}

void read_decoder(const TokenizerObject& root, TokenizerReading& reading, WordPieceContent& content) {
  const json* value = root.find("decoder");
  if (value == nullptr || value->is_null()) return;
  if (type_of(value) != "WordPiece") return root.unsupported("decoder", R"(null or {"type": "WordPiece", ...})");
  const TokenizerObject decoder(*value, reading, "decoder.");
  decoder.only({"type", "prefix", "cleanup"});
  decoder.absent_or("prefix", {content.prefix});
  content.clean_up = read_flag(decoder, "cleanup");
}

void read_model(const TokenizerObject& root, TokenizerReading& reading, WordPieceContent& content) {
  const TokenizerObject model(root.require("model", "an object"), reading, "model.");
  model.only({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  content.unknown = model.text("unk_token");
  content.prefix = model.text("continuing_subword_prefix");
  const json& longest = model.require("max_input_chars_per_word", "a number");
  if (!longest.is_number_unsigned() || longest.get<std::uint64_t>() > kLongestWord) {
    model.fail_at("max_input_chars_per_word", fmt::format("a number from 0 to {}", kLongestWord));
  }
  content.longest_word = longest.get<std::int64_t>();
  read_vocab(TokenizerObject(model.require("vocab", "an object of token -> id"), reading, "model.vocab."),
             content.vocab);
}

/// "[CLS]" or {"content": "[CLS]", ...}.
std::optional<std::string> token_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string()) {
    return value["content"].get<std::string>();
  }
  return std::nullopt;
}

}  // namespace

bool is_wordpiece(const json& root) {
  const json* model = root.is_object() && root.contains("model") ? &root["model"] : nullptr;
  if (model == nullptr || !model->is_object()) return false;
  return model->contains("type") ? (*model)["type"] == "WordPiece"
                                 : model->contains("max_input_chars_per_word") && !model->contains("merges");
}

WordPieceContent parse_wordpiece_json(const json& value, const std::string& file) {
  TokenizerReading reading{.file = file};
  const TokenizerObject root(value, reading, "");
  WordPieceContent content;
  content.source = file;
  read_model(root, reading, content);
  root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"});
  root.absent_or("version", {"1.0"});
  read_added_tokens(root, reading, content.specials);
  check_truncation(root, reading);
  check_padding(root, reading);
  read_normalizer(root, reading, content.normalizer);
  check_pre_tokenizer(root, reading);
  check_post_processor(root, reading, content);
  read_decoder(root, reading, content);
  reading.finish();
  return content;
}

WordPieceContent parse_vocab_txt(std::string_view text, const std::string& file) {
  if (const auto invalid = find_invalid_line(text)) {
    throw UserError(fmt::format("tokenizer '{}', line {}: {}", file, invalid->number, invalid->problem));
  }
  text = without_byte_order_mark(text);
  WordPieceContent content;
  content.source = file;
  std::unordered_map<std::string, std::int64_t> lines;
  for (std::int64_t id = 0; !text.empty(); ++id) {
    const std::string_view line = take_line(text);
    if (line.empty()) throw UserError(fmt::format("tokenizer '{}', line {}: empty, expected a token", file, id + 1));
    const auto [place, is_new] = lines.emplace(line, id);
    if (!is_new) {
      throw UserError(fmt::format("tokenizer '{}', line {}: {} stands in line {} already", file, id + 1,
                                  brief_json(place->first), place->second + 1));
    }
    content.vocab.emplace_back(line, id);
  }
  return content;
}

void read_tokenizer_config(std::string_view text, const std::string& file, WordPieceContent& content) {
  const json value = parse_strict_json(text, file);
  TokenizerReading reading{.file = file};
  const TokenizerObject config(value, reading, "");
  if (const auto lower = read_optional_flag(config, "do_lower_case")) content.normalizer.lowercase = *lower;
  if (const auto chinese = read_optional_flag(config, "tokenize_chinese_chars")) {
    content.normalizer.handle_chinese_chars = *chinese;
  }
  content.normalizer.strip_accents = read_optional_flag(config, "strip_accents");
  config.absent_or("do_basic_tokenize", {true, nullptr});
  config.absent_or("never_split", {nullptr, json::array()});
  constexpr std::array<std::pair<const char*, const char*>, 5> kNames = {{{"unk_token", "[UNK]"},
                                                                          {"sep_token", "[SEP]"},
                                                                          {"pad_token", "[PAD]"},
                                                                          {"cls_token", "[CLS]"},
                                                                          {"mask_token", "[MASK]"}}};
  for (const auto& [key, name] : kNames) {
    const json* token = config.find(key);
    if (token != nullptr && !token->is_null() && token_text(*token) != name) {
      config.unsupported(key, fmt::format("\"{}\"", name));
    }
  }
  reading.finish();
}

}  // namespace skipless
