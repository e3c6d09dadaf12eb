#include "train/append_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "configs/error.h"

namespace skipless {

void require_ordinary_or_missing(const std::filesystem::path& path) {
  std::error_code missing;
  const auto status = std::filesystem::status(path, missing);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw UserError(fmt::format("cannot write {}: not an ordinary file", path.string()));
  }
}

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  require_ordinary_or_missing(path_);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw UserError(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
}

AppendFile::~AppendFile() {
  ::close(descriptor_);
}

std::string AppendFile::add(std::string_view record) {
  pending_ += record;
  struct stat before {};
  ::fstat(descriptor_, &before);
  const char* rest = pending_.data();
  size_t left = pending_.size();
  while (left > 0) {
    const ssize_t written = ::write(descriptor_, rest, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const std::string reason = std::strerror(written < 0 ? errno : ENOSPC);
      // Half a record would spoil the file; the whole of it comes with the next try.
      if (::ftruncate(descriptor_, before.st_size) != 0) return reason + ", " + std::strerror(errno);
      return reason;
    }
    rest += written;
    left -= static_cast<size_t>(written);
  }
  pending_.clear();
  return "";
}

}  // namespace skipless
