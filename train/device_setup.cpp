#include "train/device_setup.h"

#include <fmt/format.h>

#include "models/device_kernels.h"
#include "train/attention_backend.h"
#include "train/checked_cards.h"
#include "train/cuda_driver.h"

namespace skipless {

namespace {

CudaDevice card_of(at::Device device) {
  for (const auto& card : cuda_driver_devices()) {
    if (card.index == device.index()) return card;
  }
  return {.index = device.index()};
}

bool has_passed(const CudaDevice& card) {
  const auto file = checked_cards_file();
  return file && is_checked(read_checked_cards(*file), card);
}

}  // namespace

KernelChoice choose_kernels(bool has_kernels, bool is_checked) {
  if (!has_kernels) return {.own = false, .reason = "this build has no others"};
  if (!is_checked) return {.own = false, .reason = "scripts/gpu_check.sh has not passed on this card"};
  return {.own = true, .reason = "scripts/gpu_check.sh has passed on this card"};
}

std::string set_up_device(at::Device device, Precision precision) {
  if (!device.is_cuda()) return "";
  const auto card = card_of(device);
  const auto backend = attention_backend(traits_of(device), precision);
  use_attention_backend(backend);
  const auto kernels = choose_kernels(has_device_kernels(), has_passed(card));
  use_device_kernels(kernels.own);
  return fmt::format("{}; attention: {} SDPA; kernels: {} ({})", describe(card), name_of(backend),
                     kernels.own ? "skipless's" : "LibTorch's", kernels.reason);
}

}  // namespace skipless
