// Files that are either the old one or the new one, never a part of either.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace skipless {

/// Writes `path + ".tmp"`, and on commit() flushes it to the disk, renames it to `path` and syncs the folder. Where
/// several files change together, finish() does the first of these for each, so that what can run out of space is over
/// before the first old file is replaced. A file
/// that was not committed is removed by the destructor, so that what stood at `path` before is still there. Throws
/// RunError with the path, the number of bytes and the system's reason ("No space left on device"); UserError when the
/// path cannot be created (a missing or unwritable folder; a folder, or a device such as /dev/full, of that name).
/// After a RunError the file is discarded at once, so that its space is free again.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  /// Goes on with the first `bytes` of a temporary file that an earlier process kept; UserError when it has not as
  /// many.
  AtomicFile(std::filesystem::path path, std::size_t bytes);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Overwrites bytes already written (a header whose counts are known at the end).
  void write_at(std::size_t offset, const void* data, std::size_t bytes);
  std::size_t size() const { return size_; }
  /// Flushes all to the disk, still under the temporary name.
  void sync();
  /// From now on the temporary file stays, whatever happens, for a later process to go on with.
  void keep() { kept_ = true; }
  /// No longer.
  void keep_not() { kept_ = false; }
  const std::filesystem::path& temporary() const { return temporary_; }
  /// sync(); nothing can be written after it.
  void finish();
  /// Includes finish().
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::string buffer_;
  std::size_t size_ = 0;
  int descriptor_ = -1;
  bool finished_ = false;
  bool kept_ = false;

  void open(int flags);
  void require_writable() const;
  void flush();
  void discard();
  [[noreturn]] void fail(int error);
};

/// The whole of a small file at once.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Makes the renames and new files of a folder survive a power cut. RunError with the system's reason; a file system
/// that cannot sync folders is fine.
void sync_folder(const std::filesystem::path& folder);

/// Creates a folder and its parents. UserError when a file is in the way or the folder cannot be made or written.
void make_folder(const std::filesystem::path& path);

}  // namespace skipless
