#include "configs/yaml_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "configs/error.h"
#include "configs/printable.h"
#include "configs/utf8.h"

namespace skipless {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word_of_yaml(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

// Narrower than YAML's rule, and so narrow that no number, marker or separator fits.
bool may_stand_plain(std::string_view text) {
  if (text.empty() || is_word_of_yaml(text)) return false;
  if (!is_letter(text[0]) && text[0] != '_' && text[0] != '/') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '/' || c == '.' || c == '-';
  });
}

std::string escaped(char32_t code) {
  const auto number = static_cast<unsigned>(code);
  return number < 0x100 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

}  // namespace

std::string yaml_text(std::string_view text) {
  if (may_stand_plain(text)) return std::string(text);
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    char32_t code = 0;
    const std::size_t length = utf8_character(text.substr(i), code);
    if (length == 0) throw UserError(in_quotes(text) + " cannot stand in a config: it is not valid UTF-8");
    if (code == 0) throw UserError(in_quotes(text) + " cannot stand in a config: it holds a NUL character");
    if (code == U'\n') {
      out += "\\n";
    } else if (code == U'\t') {
      out += "\\t";
    } else if (is_invisible(code)) {
      out += escaped(code);
    } else {
      if (code == U'"' || code == U'\\') out += '\\';
      out += text.substr(i, length);
    }
    i += length;
  }
  return out + '"';
}

std::string yaml_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += yaml_text(text);
  }
  return out + "]";
}

}  // namespace skipless
