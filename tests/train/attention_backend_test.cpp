#include "train/attention_backend.h"

#include <ATen/Context.h>

#include "train/device_setup.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

AttentionBackend chosen(int major, int minor, Precision precision) {
  return attention_backend({.is_cuda = true, .major = major, .minor = minor}, precision);
}

}  // namespace

TEST_CASE("attention is flash in half precision from compute capability 8.0 on, and memory-efficient elsewhere",
          "[device]") {
  for (const auto precision : {Precision::fp16, Precision::bf16}) {
    CHECK(chosen(8, 0, precision) == AttentionBackend::flash);
    CHECK(chosen(8, 6, precision) == AttentionBackend::flash);
    CHECK(chosen(9, 0, precision) == AttentionBackend::flash);
    CHECK(chosen(12, 0, precision) == AttentionBackend::flash);
  }
  CHECK(chosen(7, 5, Precision::fp16) == AttentionBackend::memory_efficient);  // 2080 Ti
  CHECK(chosen(7, 0, Precision::fp16) == AttentionBackend::memory_efficient);
  for (const int major : {6, 7, 8, 9}) CHECK(chosen(major, 0, Precision::fp32) == AttentionBackend::memory_efficient);
}

TEST_CASE("LibTorch may run the chosen attention, and what takes the calls that it refuses, but not cuDNN's",
          "[device]") {
  auto& context = at::globalContext();
  const bool flash = context.userEnabledFlashSDP(), cudnn = context.userEnabledCuDNNSDP();
  for (const auto backend : {AttentionBackend::memory_efficient, AttentionBackend::flash}) {
    use_attention_backend(backend);
    CHECK(context.userEnabledFlashSDP() == (backend == AttentionBackend::flash));
    CHECK(context.userEnabledMemEfficientSDP());
    CHECK(context.userEnabledMathSDP());
    CHECK_FALSE(context.userEnabledCuDNNSDP());
  }
  context.setSDPUseFlash(flash);
  context.setSDPUseCuDNN(cudnn);
}

TEST_CASE("kernels of this project run on a card only where the build has them and the check has passed", "[device]") {
  CHECK(choose_kernels(true, true).own);
  CHECK_FALSE(choose_kernels(true, false).own);
  CHECK_FALSE(choose_kernels(false, true).own);
  CHECK_THAT(choose_kernels(true, false).reason, Catch::Contains("scripts/gpu_check.sh has not passed"));
  CHECK_THAT(choose_kernels(false, true).reason, Catch::Contains("this build"));
}

TEST_CASE("on a CPU nothing is set up", "[device]") {
  const bool flash = at::globalContext().userEnabledFlashSDP();
  CHECK(set_up_device(at::kCPU, Precision::bf16).empty());
  CHECK(at::globalContext().userEnabledFlashSDP() == flash);
}

}  // namespace skipless
