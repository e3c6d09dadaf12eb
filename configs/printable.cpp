#include "configs/printable.h"

#include <fmt/format.h>

namespace skipless {

std::size_t utf8_character(std::string_view text, char32_t& code) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    code = first;
    return 1;
  }
  const std::size_t length = (first >> 5) == 0x6 ? 2 : (first >> 4) == 0xE ? 3 : (first >> 3) == 0x1E ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  code = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) >> 6) != 0x2) return 0;
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kSmallest[length] || code > 0x10FFFF || surrogate ? 0 : length;
}

std::optional<std::size_t> invalid_utf8_at(std::string_view text) {
  char32_t code = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_character(text.substr(i), code);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

bool is_invisible(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool separator_or_direction = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E);
  const bool joiner_or_isolate = code >= 0x2060 && code <= 0x206F;
  return control || separator_or_direction || joiner_or_isolate || code == 0xFEFF;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++characters) {
    if (characters == most) return out + "...";
    char32_t code = 0;
    const std::size_t length = utf8_character(text.substr(i), code);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else if (!is_invisible(code)) {
      out += text.substr(i, length);
    } else if (code == U'\n') {
      out += "\\n";
    } else if (code == U'\t') {
      out += "\\t";
    } else {
      out += code < 0x80 ? fmt::format("\\x{:02x}", static_cast<unsigned>(code))
                         : fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  return fmt::format("'{}'", printable(text));
}

}  // namespace skipless
