// The documents in an input file: the whole file, or one per line of a .jsonl file. Compressed files (.gz, .zst) are
// what they hold.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "data/input_files.h"
#include "data/text_units.h"

namespace skipless {

struct Document {
  std::string_view text;  // valid UTF-8, not empty; valid during the visit only
  std::string place;      // "file" or "file:line", for messages
};

using VisitDocument = std::function<void(const Document&)>;
using VisitSkipped = std::function<void(const SkippedDocument&)>;

/// Visits the documents of `file` in order, each whole in memory. A text file that is empty, not UTF-8, or (when it was
/// found in a folder, not named) has a NUL byte near its start is skipped; a NUL byte is no reason in a named file. A
/// .jsonl file must hold one JSON object a line (blank lines are skipped) whose `field` is a text: everything else is a
/// UserError with file and line, as is a file that cannot be read. Byte order marks are kept: they are text.
void read_documents(const InputFile& file, const std::string& field, const VisitDocument& visit,
                    const VisitSkipped& skip);

/// The same for one unit of a file that holds whole documents: any but a part.
void visit_documents(const TextUnit& unit, const std::string& field, const VisitDocument& visit,
                     const VisitSkipped& skip);

}  // namespace skipless
