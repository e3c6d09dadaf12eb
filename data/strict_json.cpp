#include "data/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "configs/error.h"
#include "configs/printable.h"
#include "configs/utf8.h"

namespace skipless {
namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 64;

/// The reason in a message of the parser, such as "[json.exception.parse_error.101] parse error at line 1, column 2:
/// syntax error while parsing value - invalid literal; last read: 'x'". The place is told in another way, and the text
/// that was read, which is up to all of it, is left out.
std::string reason_in(std::string_view message) {
  if (const std::size_t end = message.find(": "); message.starts_with("[") && end != std::string_view::npos) {
    message.remove_prefix(end + 2);
  }
  constexpr std::size_t kMost = 200;
  return printable(message.substr(0, message.find("; last read: ")), kMost);
}

std::string place_in(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  return lines == 0 ? fmt::format("byte {}", byte)
                    : fmt::format("byte {} (line {}, byte {})", byte, lines + 1, byte - before.rfind('\n') - 1);
}

/// Reads past a text to look for what the parser lets through. (The parser's own callback would see it too, but walks
/// through all earlier elements of a list at the end of each: hours for a long list of merges.)
class Watcher : public json::json_sax_t {
 public:
  Watcher(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) {
      throw UserError(fmt::format("'{}': the key {} stands twice in one JSON object", source_, brief_json(json(name))));
    }
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const json::exception& error) override {
    if (const auto invalid = find_invalid_utf8(text_)) {
      throw UserError(fmt::format("'{}' is not UTF-8: byte 0x{:02X} at offset {}", source_,
                                  static_cast<std::uint8_t>(text_[*invalid]), *invalid));
    }
    throw UserError(
        fmt::format("'{}' is not valid JSON at {}: {}", source_, place_in(text_, byte), reason_in(error.what())));
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }

 private:
  bool enter() {
    if (keys_.size() == kDeepest) {
      throw UserError(fmt::format("'{}': JSON is nested deeper than {} levels", source_, kDeepest));
    }
    keys_.emplace_back();
    return true;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& source_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects (and lists) around the current place
};

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, const std::string& source) {
  Watcher watcher(text, source);
  json::sax_parse(text.begin(), text.end(), &watcher);
  return json::parse(text.begin(), text.end());
}

std::string brief_json(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 120;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace skipless
