#include "configs/printable.h"

#include <fmt/format.h>

#include "configs/utf8.h"

namespace skipless {

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

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find('\n', begin);
    out += printable(text.substr(begin, end - begin), std::string_view::npos);
    if (end == std::string_view::npos) return out;
    out += '\n';
    begin = end + 1;
  }
}

std::string in_quotes(std::string_view text) {
  return fmt::format("'{}'", printable(text));
}

}  // namespace skipless
