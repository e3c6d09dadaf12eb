#include "data/text_cut.h"

#include <fmt/format.h>

#include <algorithm>

#include "configs/utf8.h"
#include "data/bpe_encoder.h"
#include "data/white_space.h"

namespace skipless {
namespace {

bool ends_with_blank(std::string_view piece) {
  std::size_t last = piece.size() - 1;
  while (is_inside_character(piece[last])) --last;
  return is_white_space(next_code_point(piece, last));
}

}  // namespace

std::size_t last_safe_cut(PieceReader& pieces, std::string_view text) {
  constexpr std::size_t kFirstLook = 256;
  for (std::size_t look = std::min(kFirstLook, text.size());; look = std::min(16 * look, text.size())) {
    std::size_t begin = text.size() - look;
    while (begin < text.size() && is_inside_character(text[begin])) ++begin;
    std::size_t cut = 0;
    std::string_view piece;
    pieces.start(text.substr(begin));
    std::size_t end = begin;
    while (pieces.next(piece)) {
      end += piece.size();
      // The last piece could go on behind the text.
      const bool apostrophe = piece.front() == '\'' || piece.back() == '\'';
      if (end < text.size() && !apostrophe && !ends_with_blank(piece)) cut = end;
    }
    if (cut > 0 || look == text.size()) return cut;
  }
}

std::optional<std::string> ByteLevelCutter::fault_of(std::string_view text, std::uint64_t offset) {
  if (text.size() <= BpeEncoder::kLongestPiece) return std::nullopt;
  pieces_.start(text);
  std::string_view piece;
  while (pieces_.next(piece)) {
    if (piece.size() > BpeEncoder::kLongestPiece) {
      return fmt::format(
          "a text of which {} bytes from byte {} on have no end of a word or number in them; allowed are {}",
          piece.size(), offset + static_cast<std::uint64_t>(piece.data() - text.data()), BpeEncoder::kLongestPiece);
    }
  }
  return std::nullopt;
}

}  // namespace skipless
