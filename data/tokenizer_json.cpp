#include "data/tokenizer_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/strict_json.h"
#include "data/tokenizer_object.h"

namespace skipless {
namespace {

using nlohmann::json;

void check_pre_tokenizer(const TokenizerObject& root, TokenizerReading& reading) {
  const json& value = root.require("pre_tokenizer", "ByteLevel");
  if (type_of(&value) != "ByteLevel") {
    root.unsupported("pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})");
    return;
  }
  const TokenizerObject reader(value, reading, "pre_tokenizer.");
  reader.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  reader.require("add_prefix_space", "false");
  reader.absent_or("add_prefix_space", {false});
  reader.absent_or("trim_offsets", {true, false});
  reader.absent_or("use_regex", {true});
}

/// The post-processor ByteLevel trims offsets and the decoder ByteLevel is the inverse of the alphabet.
void check_byte_level_or_null(const TokenizerObject& root, std::string_view key, TokenizerReading& reading) {
  const json* value = root.find(key);
  if (value == nullptr || value->is_null()) return;
  if (type_of(value) != "ByteLevel") {
    root.unsupported(key, R"(null or {"type": "ByteLevel", ...})");
    return;
  }
  const TokenizerObject reader(*value, reading, fmt::format("{}.", key));
  reader.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  for (const std::string_view flag : {"add_prefix_space", "trim_offsets", "use_regex"}) {
    reader.absent_or(flag, {true, false});
  }
}

void read_merges(const TokenizerObject& model, BpeContent& content) {
  const json& merges = model.require("merges", "a list");
  if (!merges.is_array()) model.fail(fmt::format("'model.merges' is {}, expected a list", brief_json(merges)));
  content.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const json& merge = merges[i];
    std::optional<std::pair<std::string, std::string>> pair;
    if (merge.is_string()) pair = split_merge(merge.get_ref<const std::string&>());
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      pair.emplace(merge[0].get<std::string>(), merge[1].get<std::string>());
    }
    if (!pair) {
      model.fail(
          fmt::format(R"('model.merges[{}]' is {}, expected "left right" or ["left", "right"])", i, brief_json(merge)));
    }
    content.merges.push_back(std::move(*pair));
  }
}

void read_model(const TokenizerObject& root, TokenizerReading& reading, BpeContent& content) {
  const TokenizerObject model(root.require("model", "an object"), reading, "model.");
  // Files of old versions name no type; only BPE has merges.
  const json* type = model.find("type");
  if (type != nullptr && *type != "BPE") {
    // Nothing else of such a file is as BPE has it: the type alone is what its user should hear about.
    model.unsupported("type", "\"BPE\" or \"WordPiece\"");
    reading.finish();
  }
  model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
              "byte_fallback", "ignore_merges", "vocab", "merges"});
  model.absent_or("dropout", {nullptr, 0.0});
  model.absent_or("unk_token", {nullptr});
  model.absent_or("continuing_subword_prefix", {nullptr, ""});
  model.absent_or("end_of_word_suffix", {nullptr, ""});
  model.absent_or("fuse_unk", {false});
  model.absent_or("byte_fallback", {false});
  model.absent_or("ignore_merges", {false});
  read_vocab(TokenizerObject(model.require("vocab", "an object of token -> id"), reading, "model.vocab."),
             content.vocab);
  read_merges(model, content);
}

}  // namespace

std::optional<std::pair<std::string, std::string>> split_merge(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank == 0 || blank + 1 == line.size() ||
      line.find(' ', blank + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return std::pair(std::string(line.substr(0, blank)), std::string(line.substr(blank + 1)));
}

BpeContent parse_tokenizer_json(const json& value, const std::string& file) {
  TokenizerReading reading{.file = file};
  const TokenizerObject root(value, reading, "");
  BpeContent content;
  content.source = file;
  // The model first: one of another type ends the reading.
  read_model(root, reading, content);
  root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"});
  root.absent_or("version", {"1.0"});
  root.absent_or("truncation", {nullptr});
  root.absent_or("padding", {nullptr});
  root.absent_or("normalizer", {nullptr});
  check_pre_tokenizer(root, reading);
  check_byte_level_or_null(root, "post_processor", reading);
  check_byte_level_or_null(root, "decoder", reading);
  read_added_tokens(root, reading, content.specials);
  reading.finish();
  return content;
}

BpeContent parse_vocab_json(std::string_view text, const std::string& file) {
  const json value = parse_strict_json(text, file);
  TokenizerReading reading{.file = file};
  BpeContent content;
  content.source = file;
  read_vocab(TokenizerObject(value, reading, ""), content.vocab);
  return content;
}

}  // namespace skipless
