// A file that grows by whole records: each is in it completely or not at all, and is tried again where it is not.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace skipless {

class AppendFile {
 public:
  /// Opens for appending, creates where missing. UserError when that cannot be, or when it is no ordinary file.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// Returns what kept the record from being written ("No space left on device"), or "". What could not be written is
  /// kept and tried again with the next record.
  std::string add(std::string_view record);
  bool all_written() const { return pending_.empty(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string pending_;
};

/// UserError when something else than an ordinary file is at `path`.
void require_ordinary_or_missing(const std::filesystem::path& path);

}  // namespace skipless
