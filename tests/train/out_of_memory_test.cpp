#include "train/out_of_memory.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <new>
#include <stdexcept>

#include "train/peak_memory.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

TEST_CASE("every way to run out of memory is known, and nothing else", "[memory]") {
  CHECK(is_out_of_memory(std::bad_alloc()));
  CHECK(is_out_of_memory(c10::OutOfMemoryError({}, "CUDA out of memory")));
  CHECK_FALSE(is_out_of_memory(std::runtime_error("out of luck")));
  CHECK_FALSE(is_out_of_memory(c10::Error({}, "a shape that does not fit")));
  try {
    at::empty({int64_t{1} << 50}, at::kByte);  // a pebibyte
    FAIL("there is that much memory");
  } catch (const std::exception& error) {
    CHECK(is_out_of_memory(error));
  }
}

TEST_CASE("the next smaller micro-batch divides the batch", "[memory]") {
  CHECK(next_smaller_micro_batch(128, 128) == 64);
  CHECK(next_smaller_micro_batch(128, 32) == 16);
  CHECK(next_smaller_micro_batch(12, 6) == 4);
  CHECK(next_smaller_micro_batch(8, 3) == 2);
  CHECK(next_smaller_micro_batch(7, 7) == 1);
  CHECK(next_smaller_micro_batch(7, 1) == 0);
  BatchConfig batch;
  batch.batch_size = 128;
  batch.micro_batch = 32;
  CHECK(out_of_memory_text(3, batch, 10'900'000'000) ==
        "out of memory after step 3 with train.micro_batch 32 (peak 10.90 GB); train.micro_batch=16 needs less and "
        "gives "
        "the same steps of 128 sequences");
  batch.micro_batch = 1;
  CHECK_THAT(out_of_memory_text(3, batch, 1), Catch::Contains("train.recompute=true"));
}

TEST_CASE("the peak of the process's memory is more than a tensor that it filled", "[memory]") {
  constexpr int64_t kBytes = 64'000'000;
  at::empty({kBytes}, at::kByte).fill_(1);
  CHECK(peak_memory(at::kCPU) > kBytes);
}

}  // namespace skipless
