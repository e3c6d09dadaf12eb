#include "data/tsv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "configs/error.h"
#include "configs/utf8.h"

namespace skipless {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

void require_utf8(std::string_view text, const std::filesystem::path& path) {
  const auto invalid = find_invalid_utf8(text);
  if (!invalid) return;
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*invalid), '\n') + 1;
  const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  throw UserError(fmt::format("{}:{}: not UTF-8: byte 0x{:02X} at offset {}{}", path.string(), line,
                              static_cast<std::uint8_t>(text[*invalid]), *invalid,
                              utf16 ? " (it begins with the byte order mark of UTF-16)" : ""));
}

void split(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (std::size_t tab = line.find('\t'); tab != std::string_view::npos; tab = line.find('\t')) {
    cells.push_back(line.substr(0, tab));
    line.remove_prefix(tab + 1);
  }
  cells.push_back(line);
}

}  // namespace

TsvReader::TsvReader(const std::filesystem::path& path) : file_(path), rest_(file_.text()) {
  require_utf8(rest_, path);
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool TsvReader::next(TsvLine& line) {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) continue;
    line.number = number_;
    split(text, line.cells);
    return true;
  }
  return false;
}

}  // namespace skipless
