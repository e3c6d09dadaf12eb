// Which files a corpus consists of, and in which order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace skipless {

struct InputSelection {
  /// Files, folders (searched recursively, without hidden entries and linked folders) and shell patterns. A file that
  /// is named is taken whatever its name; in folders, files with the extension of a text format or of source code, also
  /// with .gz or .zst behind it.
  std::vector<std::string> paths;
  /// Instead of extensions: patterns of the files to take in folders. One without '/' is for the file's name, another
  /// for its path below the folder, in which '*' also matches '/'.
  std::vector<std::string> globs;
  /// Patterns of what to leave out: without '/', any file or folder of that name; with it, a path below the folder.
  std::vector<std::string> excludes;
  /// Nothing below this folder is taken.
  std::filesystem::path never;
};

struct InputFile {
  std::string path;    // a std::filesystem::path takes five times the memory, and there may be millions
  bool named = false;  // given by the user rather than found in a folder
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds; 0: not known

  /// A name that ends in .jsonl, also before .gz or .zst, or in .json.gz or .json.zst.
  bool is_json_lines() const;
};

/// Whether it still has the size and time of change that it was found with, if they are known.
bool is_unchanged(const InputFile& file);

struct InputFiles {
  std::vector<InputFile> files;  // as given; within a folder sorted by path, byte by byte; each file once
  std::map<std::string, std::int64_t> skipped;  // reason -> files in folders that were left out
  std::uint64_t bytes = 0;
};

/// UserError when a path does not exist, a pattern matches nothing, a folder cannot be read, or no file is left.
InputFiles find_input_files(const InputSelection& selection);

}  // namespace skipless
