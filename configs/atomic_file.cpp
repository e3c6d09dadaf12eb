#include "configs/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "configs/error.h"
#include "configs/printable.h"

namespace skipless {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;
constexpr std::size_t kLongestPath = 300;

std::string shown(const std::filesystem::path& path) {
  return fmt::format("'{}'", printable(path.string(), kLongestPath));
}

// The reasons that lie in the path that was asked for, and not in the state of the machine.
bool is_mistake_of_path(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case EEXIST:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void fail_to_create(const std::filesystem::path& path, int error) {
  const std::string text = fmt::format("cannot write {}: {}", shown(path), std::strerror(error));
  if (is_mistake_of_path(error)) throw UserError(text);
  throw RunError(text);
}

int open_retrying(const std::filesystem::path& path, int flags) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// Returns 0, or the error. A short write is continued.
int write_all(int descriptor, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return 0;
}

int write_all_at(int descriptor, const char* data, std::size_t bytes, std::size_t offset) {
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor, data, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    data += written;
    bytes -= static_cast<std::size_t>(written);
    offset += static_cast<std::size_t>(written);
  }
  return 0;
}

int sync_retrying(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int try_sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open_retrying(folder, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return errno;
  const int error = sync_retrying(descriptor);
  ::close(descriptor);
  return error == EINVAL ? 0 : error;  // a file system that cannot sync folders
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  open(O_WRONLY | O_CREAT | O_TRUNC);
}

AtomicFile::AtomicFile(std::filesystem::path path, std::size_t bytes) : path_(std::move(path)), temporary_(path_) {
  open(O_WRONLY);
  kept_ = true;
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || static_cast<std::size_t>(status.st_size) < bytes) {
    discard();
    throw UserError(fmt::format("{} has {} bytes, expected {}", shown(temporary_), status.st_size, bytes));
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0 || ::lseek(descriptor_, 0, SEEK_END) < 0) fail(errno);
  size_ = bytes;
}

void AtomicFile::open(int flags) {
  temporary_ += ".tmp";
  // A rename would put an ordinary file in the place of a device, such as /dev/full.
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path_, ignored);
  if (std::filesystem::is_directory(status)) throw UserError(fmt::format("cannot write {}: a folder", shown(path_)));
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw UserError(fmt::format("cannot write {}: not an ordinary file", shown(path_)));
  }
  if (!path_.has_filename()) throw UserError(fmt::format("cannot write {}: not the name of a file", shown(path_)));
  descriptor_ = open_retrying(temporary_, flags);
  if (descriptor_ < 0) fail_to_create(path_, errno);
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (!kept_) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int error) {
  discard();
  throw RunError(fmt::format("cannot write {} ({} bytes): {}", shown(path_), size_, std::strerror(error)));
}

void AtomicFile::require_writable() const {
  if (descriptor_ < 0 || finished_) throw std::logic_error("write to a file that is finished or has failed");
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  require_writable();
  const char* from = static_cast<const char*>(data);
  if (buffer_.size() + bytes > kBuffer) flush();
  size_ += bytes;
  if (bytes < kBuffer) {
    buffer_.append(from, bytes);
    return;
  }
  const int error = write_all(descriptor_, from, bytes);
  if (error != 0) fail(error);
}

void AtomicFile::write_at(std::size_t offset, const void* data, std::size_t bytes) {
  require_writable();
  if (offset > size_ || bytes > size_ - offset) throw std::logic_error("overwriting bytes that are not yet written");
  flush();
  const int error = write_all_at(descriptor_, static_cast<const char*>(data), bytes, offset);
  if (error != 0) fail(error);
}

void AtomicFile::flush() {
  const int error = write_all(descriptor_, buffer_.data(), buffer_.size());
  if (error != 0) fail(error);
  buffer_.clear();
}

void AtomicFile::sync() {
  require_writable();
  flush();
  if (const int error = sync_retrying(descriptor_); error != 0) fail(error);
}

void AtomicFile::finish() {
  sync();
  finished_ = true;
}

void AtomicFile::commit() {
  if (descriptor_ < 0) throw std::logic_error("a file that is committed or has failed is committed again");
  if (!finished_) finish();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  // From here on nothing is left to remove.
  const int closed = ::close(std::exchange(descriptor_, -1));
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  // Without a sync of the folder a power cut may undo the rename.
  const int error = closed != 0 && errno != EINTR ? errno : try_sync_folder(folder);
  if (error != 0) fail(error);
}

void sync_folder(const std::filesystem::path& folder) {
  if (const int error = try_sync_folder(folder); error != 0) {
    throw RunError(fmt::format("cannot sync folder {}: {}", shown(folder), std::strerror(error)));
  }
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) error = std::make_error_code(std::errc::not_a_directory);
  if (!error && ::access(path.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (!error) return;
  const std::string text = fmt::format("cannot use folder {}: {}", shown(path), std::strerror(error.value()));
  if (is_mistake_of_path(error.value())) throw UserError(text);
  throw RunError(text);
}

}  // namespace skipless
