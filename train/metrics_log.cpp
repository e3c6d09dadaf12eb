#include "train/metrics_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "configs/atomic_file.h"
#include "configs/error.h"

namespace skipless {

namespace {

namespace fs = std::filesystem;

struct Lines {
  std::string kept;            // up to the step
  bool all = true;             // none was left out
  int64_t later = 0;           // lines beyond the step
  std::vector<int64_t> wrong;  // numbers of those that are no metrics, the first is 1
};

Lines read_lines(const fs::path& file, int64_t step) {
  std::ifstream stream(file, std::ios::binary);
  Lines lines;
  std::string line;
  for (int64_t number = 1; std::getline(stream, line); ++number) {
    const auto entry = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool incomplete = stream.eof();
    const bool usable = entry.is_object() && entry.contains("step") && entry["step"].is_number_integer();
    if (!incomplete && usable && entry["step"].get<int64_t>() <= step) {
      lines.kept += line + "\n";
      continue;
    }
    lines.all = false;
    if (incomplete) continue;
    if (usable) {
      ++lines.later;
    } else {
      lines.wrong.push_back(number);
    }
  }
  return lines;
}

/// "metrics.jsonl.old", or the first of ".old.2", ".old.3", ... that is free.
fs::path free_name(const fs::path& file, const std::string& ending) {
  const auto name = file.string() + ending;
  std::error_code ignored;
  fs::path free = name;
  for (int n = 2; fs::symlink_status(free, ignored).type() != fs::file_type::not_found; ++n) {
    free = fmt::format("{}.{}", name, n);
  }
  return free;
}

/// "line 3", "lines 3, 7 and 2 more"
std::string line_numbers(const std::vector<int64_t>& numbers) {
  constexpr size_t kMost = 5;
  const size_t named = std::min(numbers.size(), kMost);
  auto text = fmt::format("line{} {}", numbers.size() == 1 ? "" : "s",
                          fmt::join(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < numbers.size()) text += fmt::format(" and {} more", numbers.size() - named);
  return text;
}

/// Leaves in the file the lines up to `step`.
void cut_back(const fs::path& file, int64_t step, const std::function<void(const std::string&)>& warn) {
  const Lines lines = read_lines(file, step);
  std::error_code error;
  if (step == 0 && lines.later > 0) {
    const fs::path old = free_name(file, ".old");
    fs::rename(file, old, error);
    if (error) throw RunError(fmt::format("cannot rename {} to {}: {}", file.string(), old.string(), error.message()));
    warn(
        fmt::format("there is no checkpoint, though {} has {} lines of later steps: the run starts anew; they are kept "
                    "in {}",
                    file.string(), lines.later, old.string()));
    return;
  }
  if (!lines.wrong.empty()) {
    const fs::path copy = free_name(file, ".corrupt");
    fs::copy_file(file, copy, error);
    if (error) throw RunError(fmt::format("cannot copy {} to {}: {}", file.string(), copy.string(), error.message()));
    warn(fmt::format("{}: {} cannot be read and {} left out; the file as it was is {}", file.string(),
                     line_numbers(lines.wrong), lines.wrong.size() == 1 ? "is" : "are", copy.string()));
  }
  if (!lines.all) write_file(file, lines.kept);
}

/// The file, when it holds what a run that goes on after `step` may add to.
const fs::path& made_ready(const fs::path& file, int64_t step, const std::function<void(const std::string&)>& warn) {
  require_ordinary_or_missing(file);
  cut_back(file, step, warn);
  return file;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& file, int64_t step,
                       const std::function<void(const std::string&)>& warn)
    : file_(made_ready(file, step, warn)) {}

std::string MetricsLog::add(const nlohmann::json& line) {
  return file_.add(line.dump() + "\n");
}

}  // namespace skipless
