// What there is to know of a run from its folder, without its model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skipless {

enum class RunState {
  running,   // another process has its lock
  done,      // the budget is spent
  stopped,   // can be continued from a checkpoint
  begun,     // no checkpoint yet
  imported,  // the weights of another code
  unreadable
};
const char* name_of(RunState state);

/// A line of metrics.jsonl of the kind "eval".
struct RunEvaluation {
  int64_t step = 0, tokens = 0;
  double seconds = 0;  // spent in training steps
  double loss = 0;     // nats per predicted token, NaN where it was not finite
};

struct RunSummary {
  std::filesystem::path folder;
  RunState state = RunState::unreadable;
  std::string problem;  // why it is unreadable
  std::string kind, block, norm;
  int64_t n_layer = 0, d_model = 0, parameters = 0;
  int64_t step = 0, tokens = 0;  // of the last line of metrics.jsonl
  double seconds = 0;
  double tokens_per_second = 0;  // median of the reports but the first, which has the costs of starting; 0 of none
  std::vector<RunEvaluation> evaluations;
};

/// The run folders in and below `folder`, sorted. Hidden folders and those of fine-tuning are passed by. UserError when
/// there is no such folder.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder);

/// Throws nothing for a run that is not as it should be: it is `unreadable`, with the reason. Lines of metrics.jsonl
/// that are cut or broken count for nothing.
RunSummary summarize_run(const std::filesystem::path& folder);

}  // namespace skipless
