// TensorBoard's event files of a run: the numbers of the lines of metrics.jsonl once more, as curves over steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "train/append_file.h"
#include "train/event_format.h"

namespace skipless {

/// The numbers of a line, by tag: "KIND/KEY"; of an object "KEY/ITS_KEY", and of a list "...[0]", "...[1]". Without
/// kind, step, texts, and what is no number. Nothing of a line of kind "start".
Scalars scalars_of(const nlohmann::json& line);

/// Whether a file of this name is one of EventLog's.
bool is_event_file(std::string_view name);

/// Cuts off from the event files of a run what they say of steps beyond `step`, where no EventLog goes on with them.
void cut_back_events(const std::filesystem::path& folder, int64_t step,
                     const std::function<void(const std::string&)>& warn);

/// Each process writes a file of its own, "events.out.tfevents.SECONDS.skipless", which sorts behind the earlier ones.
///
/// No curve folds back: what earlier files say of steps beyond `step` is cut off from them (metrics.jsonl has its own
/// rule), and the new file begins with a START of step `step` + 1, on which a TensorBoard that watches the run forgets
/// them too. Whatever goes wrong with these files is told to `warn`, and nothing more: a run does not depend on them.
class EventLog {
 public:
  EventLog(const std::filesystem::path& folder, int64_t step, std::function<void(const std::string&)> warn);

  void add(const nlohmann::json& line);

 private:
  void write(const std::string& record);

  std::function<void(const std::string&)> warn_;
  std::unique_ptr<AppendFile> file_;  // null where it could not be opened
};

}  // namespace skipless
