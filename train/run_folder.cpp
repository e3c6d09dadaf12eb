#include "train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "train/event_log.h"

namespace skipless {

namespace fs = std::filesystem;

namespace {

bool is_part_of_a_run(const std::string& name) {
  static constexpr std::array<std::string_view, 6> kParts{"config.yaml", "tokenizer.json", "version.json",
                                                          "train.log",   "checkpoints",    "lock"};
  // metrics.jsonl may have copies beside it (metrics_log.h); both it and the events are there before config.yaml.
  return name.ends_with(".tmp") || name.starts_with("metrics.jsonl") || is_event_file(name) ||
         std::find(kParts.begin(), kParts.end(), name) != kParts.end();
}

}  // namespace

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(RunPaths{folder}.config(), ignored);
}

std::string run_config_text(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) throw UserError(fmt::format("{}: no such run folder", folder.string()));
  if (!fs::is_directory(folder, ignored)) {
    throw UserError(fmt::format("{}: a file, where the folder of a run is expected", folder.string()));
  }
  if (!is_run(folder)) {
    throw UserError(fmt::format("{}: not the folder of a run, it has no config.yaml", folder.string()));
  }
  return read_config_text(RunPaths{folder}.config());
}

RunFolder::RunFolder(const fs::path& folder) : paths_{folder} {
  make_folder(folder);
  if (!is_run(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!is_part_of_a_run(entry.path().filename().string())) {
        throw UserError(fmt::format("{}: neither empty nor the folder of a run (it holds '{}')", folder.string(),
                                    entry.path().filename().string()));
      }
    }
  }
  lock_ = ::open(paths_.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw UserError(fmt::format("cannot write {}: {}", paths_.lock().string(), std::strerror(errno)));
  // The system drops the lock with the process, however that ends.
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    ::close(lock_);
    throw UserError(reason == EWOULDBLOCK
                        ? fmt::format("{}: another process is training in this folder", folder.string())
                        : fmt::format("cannot lock {}: {}", paths_.lock().string(), std::strerror(reason)));
  }
}

RunFolder::~RunFolder() {
  ::close(lock_);
}

}  // namespace skipless
