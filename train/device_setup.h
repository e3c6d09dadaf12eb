// What is chosen on a GPU before anything is computed there: LibTorch's attention, and whose kernels run.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "train/precision.h"

namespace skipless {

/// Whose operations run on a card: LibTorch's, unless this build has kernels of its own and scripts/gpu_check.sh has
/// passed with them on such a card.
struct KernelChoice {
  bool own = false;
  std::string reason;
};
KernelChoice choose_kernels(bool has_kernels, bool is_checked);

/// Sets both for the process, and returns a line about it: "cuda:0 NVIDIA GeForce RTX 2080 Ti, compute capability 7.5,
/// 11.0 GB; attention: memory-efficient SDPA; kernels: LibTorch's (...)". On a CPU nothing is to be chosen: "".
std::string set_up_device(at::Device device, Precision precision);

}  // namespace skipless
