#include "configs/utf8.h"

#include <cstring>

namespace skipless {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t index) {
  return static_cast<std::uint8_t>(text[index]);
}

/// Length of the valid sequence at `at`, 0 when there is none. The second byte's range is what excludes overlong forms,
/// surrogates and values above U+10FFFF.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const std::uint8_t first = byte_at(text, at);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (text.size() - at < length) return 0;
  if (byte_at(text, at + 1) < low || byte_at(text, at + 1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080u;
  std::size_t at = 0;
  while (at < text.size()) {
    while (text.size() - at >= sizeof(std::uint64_t)) {  // eight ASCII bytes at a time
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & kHighBits) != 0) break;
      at += sizeof(word);
    }
    if (at == text.size()) break;
    const std::size_t length = sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::size_t utf8_character(std::string_view text, char32_t& code) {
  const std::size_t length = text.empty() ? 0 : sequence_length(text, 0);
  std::size_t start = 0;
  if (length > 0) code = next_code_point(text, start);
  return length;
}

std::uint32_t next_code_point(std::string_view text, std::size_t& offset) {
  const std::uint32_t first = byte_at(text, offset++);
  if (first < 0x80) return first;
  const int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  std::uint32_t code_point = first & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) code_point = (code_point << 6) | (byte_at(text, offset++) & 0x3Fu);
  return code_point;
}

void append_utf8(std::uint32_t code_point, std::string& text) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xC0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xE0 | (code_point >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | (code_point >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace skipless
