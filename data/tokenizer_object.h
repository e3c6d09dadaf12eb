// Looks at the objects of a tokenizer.json: what is malformed ends the reading, what is not supported is collected.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "configs/error.h"
#include "data/strict_json.h"
#include "data/token_table.h"
#include "data/tokenizer.h"

namespace skipless {

/// A tokenizer file that is being read, and what was found in it that is not supported: all of it is reported at once.
struct TokenizerReading {
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
class TokenizerObject {
 public:
  TokenizerObject(const nlohmann::json& object, TokenizerReading& reading, std::string where)
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

  const nlohmann::json* find(std::string_view key) const {
    const auto place = object_.find(key);
    return place == object_.end() ? nullptr : &*place;
  }

  const nlohmann::json& require(std::string_view key, std::string_view expected) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) fail(fmt::format("'{}{}' is missing, expected {}", where_, key, expected));
    return *value;
  }

  /// The key may be absent or hold one of `values`.
  void absent_or(std::string_view key, const std::vector<nlohmann::json>& values) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr || std::find(values.begin(), values.end(), *value) != values.end()) return;
    std::vector<std::string> texts;
    for (const nlohmann::json& allowed : values) texts.push_back(allowed.dump());
    unsupported(key, fmt::format("{}", fmt::join(texts, " or ")));
  }

  std::int64_t to_id(std::string_view key, const nlohmann::json& value) const {
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() < static_cast<std::uint64_t>(Tokenizer::kMaxVocabSize)) {
      return value.get<std::int64_t>();
    }
    fail(fmt::format("'{}{}' is {}, expected an id (0 to {})", where_, key, brief_json(value),
                     Tokenizer::kMaxVocabSize - 1));
  }

  std::string text(std::string_view key) const {
    const nlohmann::json& value = require(key, "a text");
    if (!value.is_string()) fail_at(key, "a text");
    return value.get<std::string>();
  }

  /// The value of a key is of another form than `expected`.
  [[noreturn]] void fail_at(std::string_view key, std::string_view expected) const {
    fail(fmt::format("'{}{}' is {}, expected {}", where_, key, brief_json(object_.at(key)), expected));
  }

  const nlohmann::json& object() const { return object_; }

 private:
  const nlohmann::json& object_;
  TokenizerReading& reading_;
  std::string where_;
};

/// The value of the key 'type' of an object; null for what has none, is no object or is no value at all.
inline nlohmann::json type_of(const nlohmann::json* value) {
  return value != nullptr && value->is_object() ? value->value("type", nlohmann::json()) : nlohmann::json();
}

/// The list 'added_tokens' of a tokenizer.json, all of which are special; absent, it is empty.
void read_added_tokens(const TokenizerObject& root, TokenizerReading& reading, TokenIds& specials);

/// {"token": id, ...}.
void read_vocab(const TokenizerObject& vocab, TokenIds& ids);

}  // namespace skipless
