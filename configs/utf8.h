// Strict UTF-8, as RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skipless {

/// Byte offset of the first sequence that is not valid UTF-8; nothing when all of `text` is valid. NUL bytes are valid.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

/// `text` without the byte order mark that some editors put before the first line.
std::string_view without_byte_order_mark(std::string_view text);

/// Length in bytes of the character that `text` begins with, its code point in `code`; 0 where it is invalid or there
/// is none.
std::size_t utf8_character(std::string_view text, char32_t& code);

/// The code point at `offset` of valid UTF-8, and `offset` moved behind it.
std::uint32_t next_code_point(std::string_view text, std::size_t& offset);

/// Whether a byte of valid UTF-8 is not the first of its character.
inline bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

void append_utf8(std::uint32_t code_point, std::string& text);

}  // namespace skipless
