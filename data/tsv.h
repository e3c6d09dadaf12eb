// Tab-separated lines as GLUE has them: a tab ends a cell, a newline a line, and nothing else means anything. Quotes
// are text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/mapped_file.h"

namespace skipless {

struct TsvLine {
  std::int64_t number = 0;              // from 1
  std::vector<std::string_view> cells;  // valid as long as the reader
};

/// Lines of a file in order. Empty ones are left out, as are a byte order mark before the first and a carriage return
/// at the end of each; the last one may have no newline. NUL bytes are text.
class TsvReader {
 public:
  /// UserError when the file cannot be read, or is not UTF-8: with the line, the byte and its offset.
  explicit TsvReader(const std::filesystem::path& path);

  /// False at the end.
  bool next(TsvLine& line);

 private:
  MappedFile file_;
  std::string_view rest_;
  std::int64_t number_ = 0;
};

}  // namespace skipless
