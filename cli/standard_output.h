// Standard output, and what went wrong with it; standard error.
#pragma once

#include <string>
#include <string_view>

namespace skipless {

/// Opens /dev/null for those of the standard streams that the program was started without: else the next file that is
/// opened would take the place of one, and get its text.
void open_standard_streams();

/// Writes; where that cannot be, there is nobody to tell.
void write_standard_error(std::string_view text);

/// Writes and flushes. False when it cannot be written; the first reason is kept for standard_output_problem().
bool write_standard_output(std::string_view text);

/// Flushes. "" as long as all could be written, else "cannot write to standard output: No space left on device".
std::string standard_output_problem();

}  // namespace skipless
