// The name of a run by what it computes, so that nothing is trained twice.
#pragma once

#include <string>

#include "train/run_config.h"

namespace skipless {

/// "sas_p-1f3a9c0d2b4e5f60": the block, and a hash of the resolved config without the keys that decide where the work
/// is done, what is kept and how it is watched: train.micro_batch, recompute, save_every, keep_checkpoints, log_every,
/// tensorboard, device and threads.
std::string run_key(const RunConfig& config);

}  // namespace skipless
