#include "train/metrics_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "configs/atomic_file.h"
#include "configs/error.h"

namespace skipless {

namespace {

/// The lines of the file up to `step`.
std::string kept_lines(const std::filesystem::path& file, int64_t step, bool& all) {
  std::ifstream stream(file, std::ios::binary);
  std::string kept, line;
  all = true;
  while (std::getline(stream, line)) {
    const auto entry = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool usable = !stream.eof() && entry.is_object() && entry.contains("step") && entry["step"].is_number();
    if (!usable || entry["step"].get<int64_t>() > step) {
      all = false;
      break;
    }
    kept += line + "\n";
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(std::filesystem::path file, int64_t step) : file_(std::move(file)) {
  std::error_code missing;
  const auto status = std::filesystem::status(file_, missing);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw UserError(fmt::format("cannot write {}: not an ordinary file", file_.string()));
  }
  bool all = true;
  const std::string kept = kept_lines(file_, step, all);
  if (!all) write_file(file_, kept);
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw UserError(fmt::format("cannot write {}: {}", file_.string(), std::strerror(errno)));
}

MetricsLog::~MetricsLog() {
  ::close(descriptor_);
}

std::string MetricsLog::add(const nlohmann::json& line) {
  pending_ += line.dump() + "\n";
  struct stat before {};
  ::fstat(descriptor_, &before);
  const char* rest = pending_.data();
  size_t left = pending_.size();
  while (left > 0) {
    const ssize_t written = ::write(descriptor_, rest, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const std::string reason = std::strerror(written < 0 ? errno : ENOSPC);
      // Half a line would spoil the file; the whole of it comes with the next try.
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
