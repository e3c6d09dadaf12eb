// metrics.jsonl: one JSON object per line, in the order of steps, each step once whatever was stopped and resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace skipless {

class MetricsLog {
 public:
  /// Opens for appending. Lines beyond `step`, of a run that went on after the checkpoint it now starts from, and an
  /// incomplete last line are taken out first. Nothing else is lost without a word to `warn` and a copy:
  /// - of a file with lines that cannot be read, "FILE.corrupt" is the copy;
  /// - a run that starts anew (`step` 0) though there are lines of later steps keeps them as "FILE.old".
  /// No such copy takes the place of an earlier one: the next is "FILE.old.2".
  MetricsLog(std::filesystem::path file, int64_t step, const std::function<void(const std::string&)>& warn);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  /// Appends one object, which has a "step". Returns what kept it from being written ("No space left on device"), or
  /// "". Lines that could not be written are kept and tried again with the next one.
  std::string add(const nlohmann::json& line);
  bool all_written() const { return pending_.empty(); }

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  std::string pending_;
};

}  // namespace skipless
