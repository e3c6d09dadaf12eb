#include "train/folder_sync.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "configs/error.h"

namespace skipless {

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = descriptor < 0 ? errno : 0;
  if (descriptor >= 0) {
    while (::fsync(descriptor) != 0) {
      error = errno;
      if (error != EINTR) break;
      error = 0;
    }
    ::close(descriptor);
  }
  if (error != 0 && error != EINVAL) {
    throw RunError(fmt::format("cannot sync folder {}: {}", folder.string(), std::strerror(error)));
  }
}

}  // namespace skipless
