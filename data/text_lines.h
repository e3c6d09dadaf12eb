// The lines of a text file, and where it is not UTF-8.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace skipless {

struct InvalidLine {
  std::size_t number = 0;  // from 1
  std::string problem;     // "not UTF-8: byte 0xFF at offset 6", counted in the text
};

/// The first line of `text` that is not UTF-8.
std::optional<InvalidLine> find_invalid_line(std::string_view text);

/// Takes the first line off `text`, which is not empty. A newline ends it, also one with a carriage return before it;
/// the last line may have none.
std::string_view take_line(std::string_view& text);

}  // namespace skipless
