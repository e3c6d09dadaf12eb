#include "data/byte_alphabet.h"

#include <array>

#include "configs/utf8.h"

namespace skipless {
namespace {

constexpr std::uint32_t kFirstStandIn = 0x100;

constexpr bool stands_for_itself(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::size_t kStandIns = 68;

struct Alphabet {
  std::array<std::string, 256> character;
  std::array<std::uint8_t, kStandIns> byte_of_stand_in{};

  Alphabet() {
    std::uint32_t stand_ins = 0;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      if (stands_for_itself(byte)) {
        append_utf8(byte, character[byte]);
      } else {
        byte_of_stand_in[stand_ins] = static_cast<std::uint8_t>(byte);
        append_utf8(kFirstStandIn + stand_ins++, character[byte]);
      }
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

const std::string& alphabet_character(std::uint8_t byte) {
  return alphabet().character[byte];
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string token;
  for (const char byte : bytes) token += alphabet_character(static_cast<std::uint8_t>(byte));
  return token;
}

std::optional<std::string> from_byte_alphabet(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const std::uint32_t code_point = next_code_point(token, at);
    if (code_point < kFirstStandIn && stands_for_itself(code_point)) {
      bytes += static_cast<char>(code_point);
    } else if (code_point >= kFirstStandIn && code_point < kFirstStandIn + kStandIns) {
      bytes += static_cast<char>(alphabet().byte_of_stand_in[code_point - kFirstStandIn]);
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace skipless
