#include "data/text_cut.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "configs/utf8.h"
#include "tests/data/pieces_of.h"
#include "tests/data/small_tokenizer.h"

using namespace skipless;
using test::pieces_of;

TEST_CASE("parts between safe cuts have the pieces of the whole", "[text_cut]") {
  const PreTokenizer pattern;
  PieceReader reader(pattern);
  test::Numbers numbers(3);
  // What pieces are made of, in its most awkward neighbourhoods.
  const std::vector<std::uint32_t> alphabet = {' ',    ' ',    '\n',  '\t', '\'',   '\'',    's', 't',  'r',   'e',
                                               'l',    'a',    'v',   '1',  '9',    '!',     '"', 0xA0, 0xE9,  0x3000,
                                               0x4E00, 0x300C, 0x661, 0x85, 0x2028, 0x1F600, 'd', 'm',  0x200B};
  std::size_t cuts = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text;
    const std::size_t length = 1 + numbers.below(60);
    const std::size_t kinds = 2 + numbers.below(alphabet.size() - 1);  // few kinds give long runs
    const std::size_t shift = numbers.below(alphabet.size());
    for (std::size_t i = 0; i < length; ++i) {
      append_utf8(alphabet[(shift + numbers.below(kinds)) % alphabet.size()], text);
    }
    // Seen up to any character, as a reader of a long text sees it.
    std::size_t end = 1 + numbers.below(text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    const std::size_t cut = last_safe_cut(reader, std::string_view(text).substr(0, end));
    REQUIRE(cut < end);
    if (cut == 0) continue;
    ++cuts;
    auto joined = pieces_of(reader, std::string_view(text).substr(0, cut));
    for (auto& piece : pieces_of(reader, std::string_view(text).substr(cut))) joined.push_back(piece);
    INFO("text " << text << " cut at " << cut);
    CHECK(joined == pieces_of(reader, text));
  }
  CHECK(cuts > 3000);
}

TEST_CASE("a place to cut is found far from the end too, and none in one run", "[text_cut]") {
  const PreTokenizer pattern;
  PieceReader reader(pattern);
  CHECK(last_safe_cut(reader, "word " + std::string(100000, 'x')) == 4);
  CHECK(last_safe_cut(reader, std::string(100000, 'x')) == 0);
  CHECK(last_safe_cut(reader, std::string(100000, ' ')) == 0);
  CHECK(last_safe_cut(reader, "x" + std::string(100000, ' ')) == 1);
  CHECK(last_safe_cut(reader, "") == 0);
}
