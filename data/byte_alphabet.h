// Byte-level BPE writes every byte as one printable character (a blank as U+0120), so that a vocabulary is readable
// text. The alphabet is that of GPT-2's encoder: the printable Latin-1 bytes stand for themselves, the other 68 bytes
// in ascending order for U+0100, U+0101, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skipless {

/// The character of a byte, as UTF-8.
const std::string& alphabet_character(std::uint8_t byte);

std::string to_byte_alphabet(std::string_view bytes);

/// The bytes that `token` (valid UTF-8) stands for; nothing when a character of it is outside the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view token);

}  // namespace skipless
