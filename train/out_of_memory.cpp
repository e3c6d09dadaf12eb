#include "train/out_of_memory.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <new>
#include <string_view>

namespace skipless {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  // LibTorch's allocator of CPU memory has no exception of its own.
  const std::string_view text = error.what();
  return text.find("DefaultCPUAllocator") != text.npos && text.find("memory") != text.npos;
}

int64_t next_smaller_micro_batch(int64_t batch_size, int64_t micro_batch) {
  int64_t smaller = micro_batch - 1;
  while (smaller > 0 && batch_size % smaller != 0) --smaller;
  return smaller;
}

std::string out_of_memory_text(const OutOfMemory& failure, const RunConfig& config) {
  const int64_t batch = config.train.batch_size, micro_batch = *config.train.micro_batch;
  const int64_t smaller = next_smaller_micro_batch(batch, failure.sequences);
  const std::string place =
      fmt::format("out of memory after step {} with train.micro_batch {} ({}peak {:.2f} GB)", failure.steps_done,
                  micro_batch, failure.sequences < micro_batch ? fmt::format("{} sequences, ", failure.sequences) : "",
                  static_cast<double>(failure.peak_bytes) / 1e9);
  if (smaller == 0) {
    return fmt::format("{}; no micro-batch is smaller: {}a smaller model or a smaller context needs less", place,
                       config.train.recompute ? "" : "train.recompute=true, ");
  }
  return fmt::format("{}; train.micro_batch={} needs less and gives the same steps of {} sequences{}", place, smaller,
                     batch, config.model.dropout.is_on() ? ", with other draws of dropout" : "");
}

}  // namespace skipless
