#include "data/tsv.h"

#include <fmt/format.h>

#include "configs/error.h"
#include "configs/utf8.h"
#include "data/text_lines.h"

namespace skipless {
namespace {

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
  if (const auto invalid = find_invalid_line(rest_)) {
    throw UserError(fmt::format("{}:{}: {}", path.string(), invalid->number, invalid->problem));
  }
  rest_ = without_byte_order_mark(rest_);
}

bool TsvReader::next(TsvLine& line) {
  while (!rest_.empty()) {
    const std::string_view text = take_line(rest_);
    ++number_;
    if (text.empty()) continue;
    line.number = number_;
    split(text, line.cells);
    return true;
  }
  return false;
}

}  // namespace skipless
