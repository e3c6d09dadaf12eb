// Where a long text can be cut so that its parts, encoded one by one by byte-level BPE, give the ids of the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/pretokenizer.h"
#include "data/tokenizer.h"

namespace skipless {

/// The last such place in `text`, which is valid UTF-8 and begins at the start of a text or at such a place; 0 where
/// there is none. What stands behind `text` does not matter.
///
/// A piece of the pre-tokenizer never reaches from a character that is no blank to a blank, nor from a letter, number
/// or other character to one of another class, but for contractions ('s) and the one blank before a word. So a boundary
/// that the pre-tokenizer finds behind a piece that ends with no blank, and neither begins nor ends with an apostrophe,
/// is one wherever the reading began: looking at the end of `text` is enough.
std::size_t last_safe_cut(PieceReader& pieces, std::string_view text);

/// The same for those who know their tokenizer by its interface. A text that cannot be encoded has a piece that is
/// longer than BpeEncoder::kLongestPiece.
class ByteLevelCutter final : public TextCutter {
 public:
  ByteLevelCutter() : pieces_(pattern_) {}
  std::size_t last_safe_cut(std::string_view text) override { return skipless::last_safe_cut(pieces_, text); }
  std::optional<std::string> fault_of(std::string_view text, std::uint64_t offset) override;

 private:
  PreTokenizer pattern_;
  PieceReader pieces_;
};

}  // namespace skipless
