#include "train/run_key.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "configs/config_file.h"

namespace skipless {

std::string run_key(const RunConfig& config) {
  RunConfig same = config;
  const TrainConfig any;
  same.train.micro_batch = same.train.batch_size;
  same.train.recompute = any.recompute;
  same.train.save_every = any.save_every;
  same.train.keep_checkpoints = any.keep_checkpoints;
  same.train.log_every = any.log_every;
  same.train.tensorboard = any.tensorboard;
  same.train.device = any.device;
  same.train.threads = any.threads;
  const std::string text = write_config(same);
  return fmt::format("{}-{:016x}", config.model.block, XXH3_64bits(text.data(), text.size()));
}

}  // namespace skipless
