// The pieces into which a pre-tokenizer cuts a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/pretokenizer.h"

namespace skipless::test {

inline std::vector<std::string> pieces_of(PieceReader& reader, std::string_view text) {
  std::vector<std::string> pieces;
  std::string_view piece;
  reader.start(text);
  while (reader.next(piece)) pieces.emplace_back(piece);
  return pieces;
}

}  // namespace skipless::test
