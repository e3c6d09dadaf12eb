#include "data/pretokenizer.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "configs/utf8.h"
#include "tests/data/pieces_of.h"

using namespace skipless;
using test::pieces_of;

TEST_CASE("text is cut as GPT-2 cuts it", "[pretokenizer]") {
  const PreTokenizer pattern;
  PieceReader reader(pattern);
  using Pieces = std::vector<std::string>;
  CHECK(pieces_of(reader, "").empty());
  CHECK(pieces_of(reader, "Hello, world 42!") == Pieces{"Hello", ",", " world", " 42", "!"});
  CHECK(pieces_of(reader, "we're it's I'll 'tis IT'S") ==
        Pieces{"we", "'re", " it", "'s", " I", "'ll", " '", "tis", " IT", "'", "S"});
  CHECK(pieces_of(reader, "a  b\n\n\tc  ") == Pieces{"a", " ", " b", "\n\n", "\t", "c", "  "});
  CHECK(pieces_of(reader, "x1y == [2]") == Pieces{"x", "1", "y", " ==", " [", "2", "]"});
  CHECK(pieces_of(reader, "\xC3\xA9t\xC3\xA9\xC2\xA0\xE4\xBD\xA0") ==
        Pieces{"\xC3\xA9t\xC3\xA9", "\xC2\xA0", "\xE4\xBD\xA0"});
}

// unicode_classes.txt is what the `tokenizers` package does, seen through where it cuts
// (scripts/make_unicode_additions.py).
TEST_CASE("every code point is of the class that the tokenizers package gives it", "[pretokenizer]") {
  std::vector<char> expected(0x110000, 'O');
  std::ifstream file(SKIPLESS_SOURCE_DIR "/tests/reference/unicode_classes.txt");
  REQUIRE(file);
  char kind = 0;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::size_t ranges = 0;
  while (file >> kind >> std::hex >> low >> high) {
    ++ranges;
    std::fill(expected.begin() + low, expected.begin() + high + 1, kind);
  }
  REQUIRE(ranges > 700);

  const PreTokenizer pattern;
  PieceReader reader(pattern);
  const auto joins = [&](char first, const std::string& second) {
    std::string_view piece;
    const std::string text = first + second;
    reader.start(text);
    return reader.next(piece) && piece.size() == text.size();
  };
  std::size_t different = 0;
  for (std::uint32_t code_point = 0; code_point < 0x110000; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    std::string text;
    append_utf8(code_point, text);
    const char found = joins('a', text) ? 'L' : joins('1', text) ? 'N' : joins('!', text) ? 'O' : 'S';
    if (found == expected[code_point]) continue;
    if (++different <= 10) {
      UNSCOPED_INFO("U+" << std::hex << code_point << " is " << found << ", expected " << expected[code_point]);
    }
  }
  CHECK(different == 0);
}
