// metrics.jsonl: one JSON object per line, in the order of steps, each step once whatever was stopped and resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/append_file.h"

namespace skipless {

class MetricsLog {
 public:
  /// Opens for appending. Lines beyond `step`, of a run that went on after the checkpoint it now starts from, and an
  /// incomplete last line are taken out first. Nothing else is lost without a word to `warn` and a copy:
  /// - of a file with lines that cannot be read, "FILE.corrupt" is the copy;
  /// - a run that starts anew (`step` 0) though there are lines of later steps keeps them as "FILE.old".
  /// No such copy takes the place of an earlier one: the next is "FILE.old.2".
  MetricsLog(const std::filesystem::path& file, int64_t step, const std::function<void(const std::string&)>& warn);

  /// Appends one object, which has a "step". Returns what kept it from being written (AppendFile), or "".
  std::string add(const nlohmann::json& line);
  bool all_written() const { return file_.all_written(); }

 private:
  AppendFile file_;
};

}  // namespace skipless
