// What to tell a user whose run does not fit in memory.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "train/run_config.h"

namespace skipless {

/// Whether memory, of the CPU or a device, was asked for and not given.
bool is_out_of_memory(const std::exception& error);

/// The largest number of sequences below `micro_batch` that divides batch_size, so that no micro-batch of a step is
/// smaller than the others; 0 if there is none.
int64_t next_smaller_micro_batch(int64_t batch_size, int64_t micro_batch);

struct OutOfMemory {
  int64_t steps_done = 0;
  int64_t sequences = 0;  // that were in work at once, at most micro_batch
  int64_t peak_bytes = 0;
};

/// "out of memory after step 0 with train.micro_batch 64 (peak 10.90 GB); train.micro_batch=32 needs less and gives the
/// same steps of 128 sequences"
std::string out_of_memory_text(const OutOfMemory& failure, const RunConfig& config);

}  // namespace skipless
