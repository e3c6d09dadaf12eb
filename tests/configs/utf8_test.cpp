#include "configs/utf8.h"

#include <catch2/catch.hpp>

using namespace skipless;
using namespace std::string_literals;

TEST_CASE("every code point is valid UTF-8 and read back", "[utf8]") {
  std::string all;
  for (std::uint32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    append_utf8(code_point, all);
  }
  REQUIRE_FALSE(find_invalid_utf8(all).has_value());
  std::size_t at = 0;
  for (std::uint32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    if (next_code_point(all, at) != code_point) FAIL("code point " << code_point);
  }
  CHECK(at == all.size());
}

TEST_CASE("a byte order mark is left out before a text, and nowhere else", "[utf8]") {
  CHECK(without_byte_order_mark("\xEF\xBB\xBF\xEF\xBB\xBFtext") == "\xEF\xBB\xBFtext");
  CHECK(without_byte_order_mark("text") == "text");
  CHECK(without_byte_order_mark("\xEF\xBB") == "\xEF\xBB");
  CHECK(without_byte_order_mark("").empty());
}

TEST_CASE("the offset of the first invalid sequence is found", "[utf8]") {
  const std::string bad[] = {"\x80"s,
                             "\xC0\x80"s,
                             "\xC1\xBF"s,
                             "\xE0\x9F\xBF"s,
                             "\xED\xA0\x80"s,
                             "\xED\xBF\xBF"s,
                             "\xF0\x8F\xBF\xBF"s,
                             "\xF4\x90\x80\x80"s,
                             "\xF5\x80\x80\x80"s,
                             "\xFF"s,
                             "\xC3"s,
                             "\xE2\x82"s,
                             "\xF0\x9F\x98"s,
                             "\xC3("s,
                             "\xE2(\xA1"s,
                             "\xF0\x9F(\x80"s};
  for (const std::string& sequence : bad) {
    for (std::size_t before = 0; before < 20; ++before) {
      const std::string prefix(before, 'x');
      CHECK(find_invalid_utf8(prefix + sequence) == before);
      CHECK(find_invalid_utf8(prefix + sequence + "more text behind it") == before);
    }
  }
  CHECK_FALSE(find_invalid_utf8("").has_value());
  CHECK_FALSE(find_invalid_utf8("a\0b"s).has_value());
}
