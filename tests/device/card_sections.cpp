// What card this is, and the record that it has passed.
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "configs/error.h"
#include "models/device_kernels.h"
#include "sections.h"
#include "train/checked_cards.h"
#include "train/cuda_driver.h"
#include "train/device.h"

namespace skipless::device {

namespace {

/// A CPU stands for a card of no capability, so that what happens to a record can be tried without one.
CudaDevice card_of(const Options& options) {
  if (!options.device.is_cuda()) return {.name = "a CPU"};
  for (const auto& card : cuda_driver_devices()) {
    if (card.index == options.device.index()) return card;
  }
  throw RunError(fmt::format("{}: the driver does not know it", options.device.str()));
}

}  // namespace

Outcome describe(const Options& options, Report& report) {
  const auto card = card_of(options);
  report.line(fmt::format("- device: {}", options.device.is_cuda() ? skipless::describe(card) : card.name));
  report.line(fmt::format("- LibTorch {}, processor {}", TORCH_VERSION, at::get_cpu_capability()));
  if (built_with_cuda()) {
    const auto& hooks = at::detail::getCUDAHooks();
    report.line(fmt::format("- CUDA {}, cuDNN {}", hooks.hasCUDART() ? hooks.versionCUDART() : 0,
                            hooks.compiledWithCuDNN() ? hooks.versionCuDNN() : 0));
  }
  report.line(
      fmt::format("- CUDA kernels of this project: {}", has_device_kernels() ? kernel_hash() : "none in this build"));
  return Outcome::done;
}

Outcome record(const Options& options, Report& report) {
  const auto file = checked_cards_file();
  if (!file) throw UserError("neither XDG_STATE_HOME nor HOME is an absolute path: there is no place for the record");
  const auto card = card_of(options);
  record_checked_card(*file, {.kernels = kernel_hash(),
                              .capability = fmt::format("{}.{}", card.major, card.minor),
                              .name = card.name,
                              .commit = options.commit});
  report.line(fmt::format("{} with kernels {} is recorded in {}", card.name, kernel_hash(), file->string()));
  return Outcome::done;
}

}  // namespace skipless::device
