#include "data/tokenizer_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "configs/error.h"
#include "data/strict_json.h"

namespace skipless {
namespace {

using nlohmann::json;

/// A tokenizer file that is being read, and what was found in it that is not supported: all of it is reported at once.
struct Reading {
  std::string file;
  std::vector<std::string> unsupported = {};

  void finish() const {
    if (unsupported.empty()) return;
    constexpr std::size_t kMost = 20;
    const std::size_t shown = std::min(unsupported.size(), kMost);
    throw UserError(
        fmt::format("tokenizer '{}' is not supported: {}{}", file,
                    fmt::join(unsupported.begin(), unsupported.begin() + static_cast<std::ptrdiff_t>(shown), "; "),
                    shown < unsupported.size() ? fmt::format("; and {} more", unsupported.size() - shown) : ""));
  }
};

/// Looks at one object of a tokenizer.json; `where` ("model.") is for messages.
class ObjectReader {
 public:
  ObjectReader(const json& object, Reading& reading, std::string where)
      : object_(object), reading_(reading), where_(std::move(where)) {
    if (!object_.is_object()) {
      fail(fmt::format("'{}' is {}, expected an object",
                       where_.empty() ? "(root)" : where_.substr(0, where_.size() - 1), brief_json(object_)));
    }
  }

  /// The file is malformed: nothing that follows can be trusted.
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(fmt::format("tokenizer '{}': {}", reading_.file, message));
  }

  void unsupported(std::string_view key, std::string_view supported) const {
    reading_.unsupported.push_back(
        fmt::format("'{}{}' is {} (supported: {})", where_, key, brief_json(object_.at(key)), supported));
  }

  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& item : object_.items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      unsupported(item.key(), fmt::format("the keys {}", fmt::join(known, ", ")));
    }
  }

  const json* find(std::string_view key) const {
    const auto place = object_.find(key);
    return place == object_.end() ? nullptr : &*place;
  }

  const json& require(std::string_view key, std::string_view expected) const {
    const json* value = find(key);
    if (value == nullptr) fail(fmt::format("'{}{}' is missing, expected {}", where_, key, expected));
    return *value;
  }

  /// The key may be absent or hold one of `values`.
  void absent_or(std::string_view key, const std::vector<json>& values) const {
    const json* value = find(key);
    if (value == nullptr || std::find(values.begin(), values.end(), *value) != values.end()) return;
    std::vector<std::string> texts;
    for (const json& allowed : values) texts.push_back(allowed.dump());
    unsupported(key, fmt::format("{}", fmt::join(texts, " or ")));
  }

  std::int64_t to_id(std::string_view key, const json& value) const {
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() < static_cast<std::uint64_t>(BpeTokenizer::kMaxVocabSize)) {
      return value.get<std::int64_t>();
    }
    fail(fmt::format("'{}{}' is {}, expected an id (0 to {})", where_, key, brief_json(value),
                     BpeTokenizer::kMaxVocabSize - 1));
  }

  std::string text(std::string_view key) const {
    const json& value = require(key, "a text");
    if (!value.is_string()) fail(fmt::format("'{}{}' is {}, expected a text", where_, key, brief_json(value)));
    return value.get<std::string>();
  }

  const json& object() const { return object_; }

 private:
  const json& object_;
  Reading& reading_;
  std::string where_;
};

void check_pre_tokenizer(const ObjectReader& root, Reading& reading) {
  const json& value = root.require("pre_tokenizer", "ByteLevel");
  if (!value.is_object() || value.value("type", json()) != "ByteLevel") {
    root.unsupported("pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})");
    return;
  }
  const ObjectReader reader(value, reading, "pre_tokenizer.");
  reader.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  reader.require("add_prefix_space", "false");
  reader.absent_or("add_prefix_space", {false});
  reader.absent_or("trim_offsets", {true, false});
  reader.absent_or("use_regex", {true});
}

/// The post-processor ByteLevel trims offsets and the decoder ByteLevel is the inverse of the alphabet.
void check_byte_level_or_null(const ObjectReader& root, std::string_view key, Reading& reading) {
  const json* value = root.find(key);
  if (value == nullptr || value->is_null()) return;
  if (!value->is_object() || value->value("type", json()) != "ByteLevel") {
    root.unsupported(key, R"(null or {"type": "ByteLevel", ...})");
    return;
  }
  const ObjectReader reader(*value, reading, fmt::format("{}.", key));
  reader.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  for (const std::string_view flag : {"add_prefix_space", "trim_offsets", "use_regex"}) {
    reader.absent_or(flag, {true, false});
  }
}

void read_added_tokens(const ObjectReader& root, Reading& reading, BpeContent& content) {
  const json* list = root.find("added_tokens");
  if (list == nullptr) return;
  if (!list->is_array()) root.fail(fmt::format("'added_tokens' is {}, expected a list", brief_json(*list)));
  for (std::size_t i = 0; i < list->size(); ++i) {
    const ObjectReader token((*list)[i], reading, fmt::format("added_tokens[{}].", i));
    token.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    for (const std::string_view flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      token.absent_or(flag, {true, false});
    }
    token.require("special", "true");
    token.absent_or("special", {true});
    content.specials.emplace_back(token.text("content"), token.to_id("id", token.require("id", "an id")));
  }
}

void read_vocab(const ObjectReader& vocab, BpeContent& content) {
  content.vocab.reserve(vocab.object().size());
  for (const auto& item : vocab.object().items()) {
    content.vocab.emplace_back(item.key(), vocab.to_id(item.key(), item.value()));
  }
}

void read_merges(const ObjectReader& model, BpeContent& content) {
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

void read_model(const ObjectReader& root, Reading& reading, BpeContent& content) {
  const ObjectReader model(root.require("model", "an object"), reading, "model.");
  // Files of old versions name no type; only BPE has merges.
  const json* type = model.find("type");
  if (type != nullptr && *type != "BPE") {
    model.unsupported("type", "\"BPE\"");
    return;
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
  read_vocab(ObjectReader(model.require("vocab", "an object of token -> id"), reading, "model.vocab."), content);
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

BpeContent parse_tokenizer_json(std::string_view text, const std::string& file) {
  const json value = parse_strict_json(text, file);
  Reading reading{.file = file};
  const ObjectReader root(value, reading, "");
  BpeContent content;
  content.source = file;
  // The model first: its type is what a user who gives another kind of tokenizer should hear about.
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
  read_added_tokens(root, reading, content);
  reading.finish();
  return content;
}

BpeContent parse_vocab_json(std::string_view text, const std::string& file) {
  const json value = parse_strict_json(text, file);
  Reading reading{.file = file};
  BpeContent content;
  content.source = file;
  read_vocab(ObjectReader(value, reading, ""), content);
  return content;
}

}  // namespace skipless
