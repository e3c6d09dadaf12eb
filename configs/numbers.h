// Numbers in YAML, strictly: what is not plainly a decimal number is an error and never a guess.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skipless {

/// [+-]digits without leading zeros, within 64 bits. Returns what is wrong ("has a leading zero"), or "".
std::string parse_integer(std::string_view text, int64_t& value);

/// A finite decimal number, with or without fraction and exponent. Returns what is wrong, or "".
std::string parse_number(std::string_view text, double& value);

/// The shortest text that parse_number reads back to the same bits.
std::string number_text(double value);

}  // namespace skipless
