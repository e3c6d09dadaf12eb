#include "data/tokenizer_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "configs/error.h"
#include "data/mapped_file.h"
#include "data/strict_json.h"
#include "data/utf8.h"

namespace skipless {
namespace {

using nlohmann::json;

/// Looks at one object of a tokenizer.json: `file` and `where` ("model.") are for messages.
class ObjectReader {
 public:
  ObjectReader(const json& object, std::string file, std::string where)
      : object_(object), file_(std::move(file)), where_(std::move(where)) {
    if (!object_.is_object()) {
      fail(fmt::format("'{}' is {}, expected an object",
                       where_.empty() ? "(root)" : where_.substr(0, where_.size() - 1), brief_json(object_)));
    }
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(fmt::format("tokenizer '{}': {}", file_, message));
  }

  [[noreturn]] void unsupported(std::string_view key, std::string_view supported) const {
    fail(fmt::format("'{}{}' is {}, which is not supported; supported: {}", where_, key, brief_json(object_.at(key)),
                     supported));
  }

  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& item : object_.items()) {
      if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
        fail(fmt::format("the key '{}{}' (value {}) is not supported; known are {}", where_, item.key(),
                         brief_json(item.value()), fmt::join(known, ", ")));
      }
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

  void boolean(std::string_view key) const {
    const json& value = require(key, "true or false");
    if (!value.is_boolean()) fail(fmt::format("'{}{}' is {}, expected true or false", where_, key, brief_json(value)));
  }

  std::int64_t id(std::string_view key) const { return to_id(key, require(key, "an id")); }

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

 private:
  const json& object_;
  std::string file_;
  std::string where_;
};

void check_pre_tokenizer(const ObjectReader& root, const json& value, const std::string& file) {
  constexpr std::string_view kSupported =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true or false, "use_regex": true})";
  if (!value.is_object() || value.value("type", json()) != "ByteLevel") root.unsupported("pre_tokenizer", kSupported);
  const ObjectReader reader(value, file, "pre_tokenizer.");
  reader.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  reader.boolean("add_prefix_space");
  reader.absent_or("add_prefix_space", {false});
  reader.absent_or("trim_offsets", {true, false});
  reader.absent_or("use_regex", {true});
}

/// The post-processor ByteLevel trims offsets and the decoder ByteLevel is the inverse of the alphabet.
void check_byte_level_or_null(const ObjectReader& root, std::string_view key, const std::string& file) {
  const json* value = root.find(key);
  if (value == nullptr || value->is_null()) return;
  if (!value->is_object() || value->value("type", json()) != "ByteLevel") {
    root.unsupported(key, R"(null or {"type": "ByteLevel", ...})");
  }
  const ObjectReader reader(*value, file, fmt::format("{}.", key));
  reader.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  for (const std::string_view flag : {"add_prefix_space", "trim_offsets", "use_regex"}) {
    reader.absent_or(flag, {true, false});
  }
}

void read_added_tokens(const ObjectReader& root, const std::string& file, BpeContent& content) {
  const json* list = root.find("added_tokens");
  if (list == nullptr) return;
  if (!list->is_array()) root.unsupported("added_tokens", "a list of special tokens");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const ObjectReader token((*list)[i], file, fmt::format("added_tokens[{}].", i));
    token.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    for (const std::string_view flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      token.absent_or(flag, {true, false});
    }
    token.boolean("special");
    token.absent_or("special", {true});
    const std::string text = token.text("content");
    if (text.empty()) token.fail(fmt::format("'added_tokens[{}].content' is empty", i));
    content.specials.emplace_back(text, token.id("id"));
  }
}

void read_vocab(const json& vocab, const std::string& file, const std::string& where, BpeContent& content) {
  const ObjectReader reader(vocab, file, where);
  content.vocab.reserve(vocab.size());
  for (const auto& item : vocab.items()) content.vocab.emplace_back(item.key(), reader.to_id(item.key(), item.value()));
}

/// "left right", as a line of merges.txt and as an old tokenizer.json has it.
std::pair<std::string, std::string> split_merge(std::string_view line, const std::function<void()>& fail) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank == 0 || blank + 1 == line.size() ||
      line.find(' ', blank + 1) != std::string_view::npos) {
    fail();
  }
  return {std::string(line.substr(0, blank)), std::string(line.substr(blank + 1))};
}

void read_merges(const ObjectReader& model, const json& merges, BpeContent& content) {
  if (!merges.is_array()) model.unsupported("merges", "a list");
  content.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const json& merge = merges[i];
    const auto fail = [&] {
      model.fail(fmt::format("'model.merges[{}]' is {}, expected \"left right\" or [\"left\", \"right\"]", i,
                             brief_json(merge)));
    };
    if (merge.is_string()) {
      content.merges.push_back(split_merge(merge.get_ref<const std::string&>(), fail));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string() &&
               merge[0] != "" && merge[1] != "") {
      content.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    } else {
      fail();
    }
  }
}

void read_model(const ObjectReader& root, const std::string& file, BpeContent& content) {
  const json& value = root.require("model", "an object");
  const ObjectReader model(value, file, "model.");
  // Files of old versions name no type; only BPE has merges.
  model.absent_or("type", {"BPE"});
  model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
              "byte_fallback", "ignore_merges", "vocab", "merges"});
  model.absent_or("dropout", {nullptr, 0.0});
  model.absent_or("unk_token", {nullptr});
  model.absent_or("continuing_subword_prefix", {nullptr, ""});
  model.absent_or("end_of_word_suffix", {nullptr, ""});
  model.absent_or("fuse_unk", {false});
  model.absent_or("byte_fallback", {false});
  model.absent_or("ignore_merges", {false});
  read_vocab(model.require("vocab", "an object of token -> id"), file, "model.vocab.", content);
  read_merges(model, model.require("merges", "a list"), content);
}

BpeContent read_tokenizer_json(std::string_view text, const std::string& file) {
  const json value = parse_strict_json(text, file);
  const ObjectReader root(value, file, "");
  root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"});
  root.absent_or("version", {"1.0"});
  root.absent_or("truncation", {nullptr});
  root.absent_or("padding", {nullptr});
  root.absent_or("normalizer", {nullptr});
  // The model first: its type is what a user who gives another kind of tokenizer should hear about.
  BpeContent content;
  content.source = file;
  read_model(root, file, content);
  check_pre_tokenizer(root, root.require("pre_tokenizer", "ByteLevel"), file);
  check_byte_level_or_null(root, "post_processor", file);
  check_byte_level_or_null(root, "decoder", file);
  read_added_tokens(root, file, content);
  return content;
}

void read_merges_txt(std::string_view text, const std::string& file, BpeContent& content) {
  if (const auto invalid = find_invalid_utf8(text)) {
    throw UserError(fmt::format("tokenizer '{}': not valid UTF-8 at byte {}", file, *invalid));
  }
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (number == 1 && line.starts_with("#version")) continue;
    content.merges.push_back(split_merge(line, [&] {
      throw UserError(fmt::format("tokenizer '{}', line {}: {} is no merge, expected 'left right'", file, number,
                                  brief_json(std::string(line))));
    }));
  }
}

struct TokenizerFiles {
  std::filesystem::path json = {};  // or, where empty:
  std::filesystem::path vocab = {};
  std::filesystem::path merges = {};
};

TokenizerFiles find_files(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (fs::exists(path / "tokenizer.json", ignored)) return {.json = path / "tokenizer.json"};
    if (fs::exists(path / "vocab.json", ignored) && fs::exists(path / "merges.txt", ignored)) {
      return {.vocab = path / "vocab.json", .merges = path / "merges.txt"};
    }
    throw UserError(fmt::format(
        "the folder '{}' holds no tokenizer: expected tokenizer.json, or vocab.json and merges.txt", path.string()));
  }
  if (path.filename() == "vocab.json" || path.filename() == "merges.txt") {
    return {.vocab = path.parent_path() / "vocab.json", .merges = path.parent_path() / "merges.txt"};
  }
  return {.json = path};
}

}  // namespace

BpeTokenizer read_tokenizer(const std::filesystem::path& path) {
  const TokenizerFiles files = find_files(path);
  if (!files.json.empty()) {
    return BpeTokenizer(read_tokenizer_json(MappedFile(files.json).text(), files.json.string()));
  }
  BpeContent content;
  content.source = files.vocab.string();
  read_vocab(parse_strict_json(MappedFile(files.vocab).text(), files.vocab.string()), files.vocab.string(), "",
             content);
  read_merges_txt(MappedFile(files.merges).text(), files.merges.string(), content);
  return BpeTokenizer(content);
}

std::string tokenizer_json_of(const std::filesystem::path& path) {
  const TokenizerFiles files = find_files(path);
  if (!files.json.empty()) return std::string(MappedFile(files.json).text());
  return read_tokenizer(path).to_json();
}

}  // namespace skipless
