// Standard output, and what went wrong with it.
#pragma once

#include <string>
#include <string_view>

namespace skipless {

/// Writes and flushes. False when it cannot be written; the first reason is kept for standard_output_problem().
bool write_standard_output(std::string_view text);

/// Flushes. "" as long as all could be written, else "cannot write to standard output: No space left on device".
std::string standard_output_problem();

}  // namespace skipless
