// Text of unknown origin as it may stand in a message: nothing in it can move the cursor, end the line or hide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skipless {

/// Control, formatting and invalid bytes as \xNN or \uNNNN; what follows the first `most` characters becomes "...".
std::string printable(std::string_view text, std::size_t most = 80);

/// printable() between single quotes.
std::string in_quotes(std::string_view text);

/// A message of several lines, whole: each line as printable().
std::string printable_lines(std::string_view text);

/// Characters that are not shown, or that change how their neighbours are shown.
bool is_invisible(char32_t code);

}  // namespace skipless
