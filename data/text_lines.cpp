#include "data/text_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "configs/utf8.h"

namespace skipless {

std::optional<InvalidLine> find_invalid_line(std::string_view text) {
  const auto invalid = find_invalid_utf8(text);
  if (!invalid) return std::nullopt;
  const auto before = text.substr(0, *invalid);
  const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  return InvalidLine{
      .number = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
      .problem = fmt::format("not UTF-8: byte 0x{:02X} at offset {}{}", static_cast<std::uint8_t>(text[*invalid]),
                             *invalid, utf16 ? " (it begins with the byte order mark of UTF-16)" : "")};
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace skipless
