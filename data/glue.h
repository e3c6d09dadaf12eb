// The examples of a GLUE task, as its official TSV files have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/glue_tasks.h"

namespace skipless {

struct GlueExample {
  std::string first;
  std::string second;  // "" for single sentences
  double label = 0;    // the class, a whole number from 0; of a regression the score. 0 in test files
  int64_t index = 0;   // of a test file: what the leaderboard calls it
};

struct GlueExamples {
  std::filesystem::path file;
  std::size_t columns = 0;  // of a line
  std::vector<GlueExample> examples;
  std::vector<int64_t> malformed;  // lines with another number of columns, left out
  int64_t undecided = 0;           // with the task's `no_label`, left out

  /// A sentence for the log about each kind of what was left out: the file, how many, and the first lines.
  std::vector<std::string> notes() const;
};

/// The folder of a task below that of all tasks; UserError naming the folders that it may have, and what is there.
std::filesystem::path glue_folder(const std::filesystem::path& glue, const GlueTask& task);

/// Reads one of task.files(split). Columns are found by their names in the header; quotes are text; lines with another
/// number of columns than the header are left out and listed. Labels are not looked at in test files, whose rows are
/// numbered by their column "index" or "id", or else from 0.
///
/// UserError, with the file and where there is one the line: a file that cannot be read or is not UTF-8; a column that
/// is missing or there twice, with the names in the header; a label that is none of the task's, or outside its range;
/// no example at all.
GlueExamples read_glue(const std::filesystem::path& file, const GlueTask& task, GlueSplit split);

}  // namespace skipless
