// The model of a run, from one of its checkpoints.
#pragma once

#include <c10/core/Device.h>

#include <filesystem>
#include <string>

#include "models/bert.h"
#include "models/gpt.h"
#include "train/checkpoint.h"
#include "train/run_config.h"

namespace skipless {

/// What stands in `data.folder` of imported weights until a folder is known.
inline constexpr const char* kNoData = "(imported weights: no data)";

struct LoadedRun {
  RunConfig config;
  TrainingState state;
  at::Device device = at::kCPU;
  std::string setup;  // set_up_device()'s line about it
  Transformer model;  // on `device`, in evaluation mode
};

/// `which`: "last", "best" (the lowest validation loss that was measured at a checkpoint) or a step. `device` "": the
/// run's own. UserError when there is no such run, checkpoint or device, or when the checkpoint cannot be used.
LoadedRun load_run(const std::filesystem::path& folder, const std::string& which, const std::string& device);

/// The run's model where `what` (the start of a sentence) needs a causal one. UserError for another kind.
Gpt causal_model(const LoadedRun& run, const std::filesystem::path& folder, const std::string& what);

/// The same of a masked language model.
Bert masked_model(const LoadedRun& run, const std::filesystem::path& folder, const std::string& what);

}  // namespace skipless
