// The figures of a run: times, memory, and what cards can do.
#include "train/cards.h"
#include "train/step_times.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

TEST_CASE("the time of a step is the median since the last report", "[figures]") {
  StepTimes times{c10::Device(c10::kCPU)};
  CHECK(times.take_median() == 0);
  for (const double seconds : {0.03, 9.0, 0.01, 0.02, 0.04}) {
    times.begin();
    times.end(seconds);
  }
  CHECK(times.take_median() == Approx(30));
  for (const double seconds : {0.04, 0.01, 0.02, 0.08}) times.end(seconds);
  CHECK(times.take_median() == Approx(30));
  times.end(0.005);
  CHECK(times.take_median() == Approx(5));
}

TEST_CASE("of very many steps the newest thousand count", "[figures]") {
  StepTimes times{c10::Device(c10::kCPU)};
  for (int i = 0; i < 5000; ++i) times.end(i < 4000 ? 1 : 0.001);
  CHECK(times.take_median() == Approx(1));
}

TEST_CASE("the table of cards has the 2080 Ti, and nothing for what it does not know", "[figures]") {
  CHECK(peak_flops("NVIDIA GeForce RTX 2080 Ti", "fp16").value() == Approx(53.8e12));
  CHECK(peak_flops("GeForce RTX 2080 Ti", "fp32").value() == Approx(13.4e12));
  CHECK_FALSE(peak_flops("NVIDIA GeForce RTX 2080 Ti", "bf16"));
  CHECK_FALSE(peak_flops("NVIDIA GeForce RTX 2080 SUPER", "fp16"));
  CHECK(peak_flops("NVIDIA H200", "bf16").value() == Approx(989e12));
  CHECK_FALSE(peak_flops("", "fp32"));
}

}  // namespace skipless
