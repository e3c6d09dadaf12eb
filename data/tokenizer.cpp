#include "data/tokenizer.h"

#include <fmt/format.h>

#include "configs/error.h"
#include "configs/utf8.h"

namespace skipless {

void require_utf8(std::string_view text) {
  const auto invalid = find_invalid_utf8(text);
  if (!invalid) return;
  throw UserError(
      fmt::format("not valid UTF-8: byte 0x{:02X} at offset {}", static_cast<std::uint8_t>(text[*invalid]), *invalid));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  make_encoder()->encode(text, ids);
  return ids;
}

}  // namespace skipless
