#include "data/strict_json.h"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "configs/error.h"

namespace skipless {
namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 64;

/// Messages of the parser begin with a tag such as "[json.exception.parse_error.101] ", which says nothing to a user.
std::string without_tag(std::string_view message) {
  const std::size_t end = message.find("] ");
  return std::string(message.starts_with('[') && end != std::string_view::npos ? message.substr(end + 2) : message);
}

/// Reads past a text to look for what the parser lets through. (The parser's own callback would see it too, but walks
/// through all earlier elements of a list at the end of each: hours for a long list of merges.)
class Watcher : public json::json_sax_t {
 public:
  explicit Watcher(const std::string& source) : source_(source) {}

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
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    throw UserError(fmt::format("'{}' is not valid JSON: {}", source_, without_tag(error.what())));
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

  const std::string& source_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects (and lists) around the current place
};

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, const std::string& source) {
  Watcher watcher(source);
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
