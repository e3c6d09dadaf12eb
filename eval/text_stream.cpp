#include "eval/text_stream.h"

#include <algorithm>
#include <utility>

#include "configs/utf8.h"

namespace skipless {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Length of the longest end of `text` with which a stop text begins.
size_t beginning_of_stop(const std::string& text, const std::vector<std::string>& stops) {
  size_t longest = 0;
  for (const auto& stop : stops) {
    for (size_t length = std::min(text.size(), stop.size() - 1); length > longest; --length) {
      if (text.compare(text.size() - length, length, stop, 0, length) == 0) longest = length;
    }
  }
  return longest;
}

/// Whether more bytes can make one character of it.
bool begins_character(std::string_view bytes) {
  constexpr size_t kLongest = 4;
  // Of any beginning, the smallest or the largest continuation bytes are a valid end (data/utf8.cpp has the ranges).
  for (const char byte : {'\x80', '\xBF'}) {
    std::string whole(bytes);
    while (whole.size() < kLongest) {
      whole += byte;
      if (!find_invalid_utf8(whole)) return true;
    }
  }
  return false;
}

}  // namespace

std::string TextStream::push(std::string_view bytes) {
  if (stopped_) return "";
  maybe_stop_.append(bytes);
  size_t end = std::string::npos;
  for (const auto& stop : stops_) end = std::min(end, maybe_stop_.find(stop));
  stopped_ = end != std::string::npos;
  if (!stopped_) end = maybe_stop_.size() - beginning_of_stop(maybe_stop_, stops_);
  const std::string certain = maybe_stop_.substr(0, end);
  maybe_stop_ = stopped_ ? "" : maybe_stop_.substr(end);
  return take_characters(certain, stopped_);
}

std::string TextStream::finish() {
  return take_characters(std::exchange(maybe_stop_, ""), true);
}

std::string TextStream::take_characters(std::string_view bytes, bool at_end) {
  const std::string all = std::exchange(maybe_character_, "") + std::string(bytes);
  std::string text;
  std::string_view rest = all;
  while (const auto invalid = find_invalid_utf8(rest)) {
    text.append(rest.substr(0, *invalid));
    rest.remove_prefix(*invalid);
    if (!at_end && begins_character(rest)) {
      maybe_character_ = std::string(rest);
      return text;
    }
    size_t length = 1;
    while (length < rest.size() && begins_character(rest.substr(0, length + 1))) ++length;
    text.append(kReplacement);
    rest.remove_prefix(length);
  }
  return text.append(rest);
}

}  // namespace skipless
