#include "data/glue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "configs/error.h"
#include "configs/numbers.h"
#include "configs/printable.h"
#include "data/tsv.h"

namespace skipless {

namespace fs = std::filesystem;

namespace {

const ColumnNames kIndex = {"index", "id"};

/// Where the columns of a file are.
struct Columns {
  std::size_t count = 0;
  std::size_t first = 0;
  std::optional<std::size_t> second;
  std::optional<std::size_t> label;
  std::optional<std::size_t> index;
};

std::string place_of(const fs::path& file, int64_t line) {
  return fmt::format("{}:{}", file.string(), line);
}

class Header {
 public:
  Header(const TsvLine& line, const fs::path& file) : line_(line), file_(file) {}

  /// The first of `names` that a column has.
  std::optional<std::size_t> find(const ColumnNames& names) const {
    for (const auto name : names) {
      const auto count = std::count(line_.cells.begin(), line_.cells.end(), name);
      if (count > 1) {
        throw UserError(
            fmt::format("{}: {} columns are called {}", place_of(file_, line_.number), count, in_quotes(name)));
      }
      if (count == 1) {
        return static_cast<std::size_t>(std::find(line_.cells.begin(), line_.cells.end(), name) - line_.cells.begin());
      }
    }
    return std::nullopt;
  }

  std::size_t require(const ColumnNames& names) const {
    if (const auto place = find(names)) return *place;
    constexpr std::size_t kMost = 200;
    throw UserError(fmt::format("{}: no column {}; the header has: {}", place_of(file_, line_.number),
                                fmt::join(quoted(names), " or "),
                                printable(fmt::format("{}", fmt::join(line_.cells, ", ")), kMost)));
  }

 private:
  static std::vector<std::string> quoted(const ColumnNames& names) {
    std::vector<std::string> out;
    for (const auto name : names) out.push_back(in_quotes(name));
    return out;
  }

  const TsvLine& line_;
  const fs::path& file_;
};

/// Those of `line` if it is the header; nothing where the file has none and needs none.
std::optional<Columns> columns_of(const TsvLine& line, const fs::path& file, const GlueTask& task, GlueSplit split) {
  const Header header(line, file);
  const bool labelled = split != GlueSplit::test;
  if (labelled && task.headerless && !(header.find(task.first) && header.find(task.label))) return std::nullopt;
  Columns columns{
      .count = line.cells.size(), .first = header.require(task.first), .second = {}, .label = {}, .index = {}};
  if (task.is_pair()) columns.second = header.require(task.second);
  if (labelled) columns.label = header.require(task.label);
  if (!labelled) columns.index = header.find(kIndex);
  return columns;
}

std::string allowed_labels(const GlueTask& task) {
  return task.is_regression() ? fmt::format("a number from {} to {}", task.low, task.high)
                              : fmt::format("{}", fmt::join(task.labels, ", "));
}

double label_of(std::string_view text, const GlueTask& task, const fs::path& file, int64_t line) {
  if (task.is_regression()) {
    double value = 0;
    if (parse_number(text, value).empty() && value >= task.low && value <= task.high) return value;
  } else if (const auto found = std::find(task.labels.begin(), task.labels.end(), text); found != task.labels.end()) {
    return static_cast<double>(found - task.labels.begin());
  }
  throw UserError(fmt::format("{}: {} is no label of {}; allowed: {}", place_of(file, line), in_quotes(text),
                              task.title, allowed_labels(task)));
}

int64_t index_of(std::string_view text, const fs::path& file, int64_t line) {
  int64_t value = 0;
  if (const std::string problem = parse_integer(text, value); !problem.empty()) {
    throw UserError(fmt::format("{}: the index {} {}", place_of(file, line), in_quotes(text), problem));
  }
  return value;
}

/// "'a', 'b', 'c'": what is in a folder, for a message.
std::string listing(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  constexpr std::size_t kMost = 200;
  return names.empty() ? "nothing" : printable(fmt::format("{}", fmt::join(names, ", ")), kMost);
}

}  // namespace

fs::path glue_folder(const fs::path& glue, const GlueTask& task) {
  std::error_code ignored;
  if (!fs::is_directory(glue, ignored)) {
    throw UserError(
        fmt::format("'{}' is not a folder; expected that of the GLUE tasks, with a folder for each", glue.string()));
  }
  for (const auto name : task.folders) {
    if (fs::is_directory(glue / name, ignored)) return glue / name;
  }
  throw UserError(fmt::format("'{}' has no folder for {} ({}); it holds: {}", glue.string(), task.title,
                              fmt::join(task.folders, " or "), listing(glue)));
}

GlueExamples read_glue(const fs::path& file, const GlueTask& task, GlueSplit split) {
  TsvReader reader(file);
  GlueExamples read{.file = file, .columns = 0, .examples = {}, .malformed = {}};
  TsvLine line;
  if (!reader.next(line)) throw UserError(fmt::format("{}: the file is empty", file.string()));
  Columns columns;
  bool more = true;
  if (const auto named = columns_of(line, file, task, split)) {
    columns = *named;
    more = reader.next(line);
  } else {
    const ColumnPlaces& places = *task.headerless;
    columns = {.count = places.columns, .first = places.first, .second = {}, .label = places.label, .index = {}};
  }
  read.columns = columns.count;
  for (; more; more = reader.next(line)) {
    if (line.cells.size() != columns.count) {
      read.malformed.push_back(line.number);
      continue;
    }
    GlueExample example{.first = std::string(line.cells[columns.first]), .second = {}};
    if (columns.second) example.second = line.cells[*columns.second];
    if (columns.label) {
      const std::string_view label = line.cells[*columns.label];
      if (!task.no_label.empty() && label == task.no_label) {
        ++read.undecided;
        continue;
      }
      example.label = label_of(label, task, file, line.number);
    }
    example.index = columns.index ? index_of(line.cells[*columns.index], file, line.number)
                                  : static_cast<int64_t>(read.examples.size());
    read.examples.push_back(std::move(example));
  }
  if (read.examples.empty()) {
    const auto notes = read.notes();
    throw UserError(fmt::format("{}: no example in it{}", file.string(),
                                notes.empty() ? ", only a header" : fmt::format(" ({})", fmt::join(notes, "; "))));
  }
  return read;
}

std::vector<std::string> GlueExamples::notes() const {
  std::vector<std::string> notes;
  if (!malformed.empty()) {
    constexpr std::size_t kMost = 10;
    const std::size_t named = std::min(kMost, malformed.size());
    const std::vector<int64_t> first(malformed.begin(), malformed.begin() + static_cast<std::ptrdiff_t>(named));
    notes.push_back(fmt::format("{}: {} malformed line{} left out, not of {} columns: line {}{}", file.string(),
                                malformed.size(), malformed.size() == 1 ? "" : "s", columns, fmt::join(first, ", "),
                                named < malformed.size() ? ", ..." : ""));
  }
  if (undecided > 0) {
    notes.push_back(fmt::format("{}: {} row{} without an agreed label left out", file.string(), undecided,
                                undecided == 1 ? "" : "s"));
  }
  return notes;
}

}  // namespace skipless
