#include "train/log_file.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <system_error>

#include "configs/error.h"

namespace skipless {

LogFile::LogFile(const std::filesystem::path& file) {
  std::error_code missing;
  const auto status = std::filesystem::status(file, missing);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw UserError(fmt::format("cannot write {}: not an ordinary file", file.string()));
  }
  try {
    sink_ = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string());
  } catch (const spdlog::spdlog_ex& error) {
    throw UserError(fmt::format("cannot write {}: {}", file.string(), error.what()));
  }
  spdlog::default_logger()->sinks().push_back(sink_);
}

LogFile::~LogFile() {
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.erase(std::remove(sinks.begin(), sinks.end(), sink_), sinks.end());
}

}  // namespace skipless
