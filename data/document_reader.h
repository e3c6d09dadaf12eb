// The documents in an input file: the whole file, or one per line of a .jsonl file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "data/input_files.h"

namespace skipless {

struct Document {
  std::string_view text;     // valid UTF-8, not empty; valid during the visit only
  std::string place;         // "file" or "file:line", for messages
  std::uint64_t file_bytes;  // how much of the file it takes
};

/// What was left out, with the reason's kind (for counting) and its wording.
struct SkippedDocument {
  std::string place;
  std::string kind;  // "empty", "binary", "not UTF-8"
  std::string reason;
  std::uint64_t file_bytes;
};

/// Visits the documents of `file` in order. A text file that is empty, not UTF-8, or (when it was found in a folder,
/// not named) has a NUL byte near its start is skipped; a NUL byte is no reason in a named file. A .jsonl file must
/// hold one JSON object a line (blank lines are skipped) whose `field` is a text: everything else is a UserError with
/// file and line, as is a file that cannot be read. Byte order marks are kept: they are text.
void read_documents(const InputFile& file, const std::string& field, const std::function<void(const Document&)>& visit,
                    const std::function<void(const SkippedDocument&)>& skip);

}  // namespace skipless
