// A whole training run in its folder: from nothing or from its last checkpoint, to the end of its budget or to a
// signal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "train/run_config.h"
#include "train/stopwatch.h"

namespace skipless {

struct TrainOutcome {
  int64_t step = 0;                       // steps done
  bool was_done = false;                  // before this call
  int signal = 0;                         // that stopped it, after a checkpoint was saved
  std::optional<double> validation_loss;  // at this step, if measured
};

/// Trains `config` in `folder`, which is created or continued. `version` is the content of version.json; `terminal`
/// whether progress is drawn as a bar.
///
/// UserError: data that do not fit the model, a device that is not there, a folder that cannot be used, a run of
/// another config (each differing key is named), checkpoints that cannot be used. RunError: a loss that is not finite
/// (the first bad tensor is named, and nothing is saved), or files that could not be written at the end. A checkpoint
/// that cannot be written before the end is reported, and training goes on until the next one.
///
/// On one CPU with the same number of threads, a run that was stopped and continued ends in the same bits as an
/// unbroken one. Under a budget of hours this holds for the same times of the same steps; `clock` measures them.
TrainOutcome train(const RunConfig& config, const std::filesystem::path& folder, const std::string& version,
                   bool terminal, const Clock& clock = steady_seconds);

}  // namespace skipless
