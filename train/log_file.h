// train.log: what is logged while a run goes on.
#pragma once

#include <spdlog/common.h>

#include <filesystem>

namespace skipless {

/// Sends what is logged to the file too, for as long as it lives.
class LogFile {
 public:
  /// UserError when the file is no ordinary one or cannot be written.
  explicit LogFile(const std::filesystem::path& file);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

 private:
  spdlog::sink_ptr sink_;
};

}  // namespace skipless
