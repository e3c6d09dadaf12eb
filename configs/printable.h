// Text of unknown origin as it may stand in a message: nothing in it can move the cursor, end the line or hide.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace skipless {

/// Offset of the first byte that does not belong to valid UTF-8 (overlong forms and surrogates are invalid), if any.
std::optional<std::size_t> invalid_utf8_at(std::string_view text);

/// Control, formatting and invalid bytes as \xNN or \uNNNN; what follows the first `most` characters becomes "...".
std::string printable(std::string_view text, std::size_t most = 80);

/// printable() between single quotes.
std::string in_quotes(std::string_view text);

/// Length in bytes of the UTF-8 character that `text` begins with, its code point in `code`; 0 where it is invalid.
std::size_t utf8_character(std::string_view text, char32_t& code);

/// Characters that are not shown, or that change how their neighbours are shown.
bool is_invisible(char32_t code);

}  // namespace skipless
