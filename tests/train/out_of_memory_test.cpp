#include "train/out_of_memory.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <string>

#include "configs/config_file.h"
#include "train/peak_memory.h"
#include "train/run_config.h"
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
}

TEST_CASE("advice against running out of memory is a smaller micro-batch that helps, or what is not yet tried",
          "[memory]") {
  const auto text_of = [](int64_t sequences, const std::string& more) {
    return out_of_memory_text({.steps_done = 3, .sequences = sequences, .peak_bytes = 10'900'000'000},
                              parse_config<RunConfig>(fmt::format("data: {{folder: x}}\n{}", more), "test"));
  };
  const std::string batch = "train: {batch_size: 128, micro_batch: 32}";
  CHECK(text_of(32, batch) ==
        "out of memory after step 3 with train.micro_batch 32 (peak 10.90 GB); train.micro_batch=16 needs less and "
        "gives the same steps of 128 sequences");
  // A step at the beginning of a ramp had no more than its 8.
  CHECK_THAT(text_of(8, batch),
             Catch::Contains("micro_batch 32 (8 sequences, peak") && Catch::Contains("micro_batch=4 needs"));
  CHECK_THAT(text_of(32, batch + "\nmodel: {dropout: {branch: 0.1}}"),
             Catch::EndsWith("the same steps of 128 sequences, with other draws of dropout"));
  CHECK_THAT(text_of(1, "train: {micro_batch: 1}"), Catch::Contains("train.recompute=true, a smaller model"));
  CHECK_THAT(text_of(1, "train: {micro_batch: 1, recompute: true}"), !Catch::Contains("recompute"));
}

TEST_CASE("the peak of the process's memory is more than a tensor that it filled", "[memory]") {
  constexpr int64_t kBytes = 64'000'000;
  at::empty({kBytes}, at::kByte).fill_(1);
  CHECK(peak_memory(at::kCPU) > kBytes);
}

}  // namespace skipless
