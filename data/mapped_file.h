// A whole file as read-only memory. Pages come from the file and go back to it: no anonymous memory, whatever the size.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace skipless {

/// Maps a regular file. UserError when it is missing, a folder, not a regular file, or cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  /// Whether `status` describes this file, and not another one of its name.
  bool is_of(const struct stat& status) const { return status.st_dev == device_ && status.st_ino == inode_; }
  std::size_t size() const { return size_; }
  const std::byte* data() const { return data_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace skipless
