// Every problem of one config with its place, thrown as one UserError.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace skipless {

class ProblemReport {
 public:
  /// Messages beyond these are only counted.
  static constexpr std::size_t kShown = 50;

  explicit ProblemReport(std::string_view source);

  /// `line` counts from 1. `path` is empty for what concerns the text as a whole.
  void at_line(int line, std::string_view path, std::string_view message);
  void at_column(int line, int column, std::string_view message);
  /// A problem of the text as a whole, such as its size.
  void at_source(std::string_view message);
  void at_override(std::string_view argument, std::string_view message);
  /// A problem of a value that was not given anywhere.
  void at_default(std::string_view path, std::string_view message);

  bool empty() const { return entries_.empty(); }
  /// Throws UserError with all problems: those of the file by line, then the command line's, then those of defaults.
  void throw_if_any() const;

 private:
  enum class Origin { file, command_line, defaults };
  struct Entry {
    Origin origin;
    int line;
    std::string text;
  };

  std::string source_;
  std::vector<Entry> entries_;
};

}  // namespace skipless
