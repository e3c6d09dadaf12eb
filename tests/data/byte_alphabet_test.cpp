#include "data/byte_alphabet.h"

#include <catch2/catch.hpp>
#include <string>

using namespace skipless;

TEST_CASE("the byte alphabet is a bijection of the bytes", "[byte_alphabet]") {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  CHECK(from_byte_alphabet(to_byte_alphabet(bytes)) == bytes);
  CHECK(to_byte_alphabet(" ") == "\xC4\xA0");  // U+0120
  CHECK(to_byte_alphabet("\n") == "\xC4\x8A");
  CHECK(to_byte_alphabet("\xAD") == "\xC5\x83");  // the last stand-in, U+0143
  CHECK(to_byte_alphabet("a!~") == "a!~");
  CHECK_FALSE(from_byte_alphabet("a b").has_value());
  CHECK_FALSE(from_byte_alphabet("\xC5\x84").has_value());  // U+0144
  CHECK_FALSE(from_byte_alphabet("\xE2\x82\xAC").has_value());
}
