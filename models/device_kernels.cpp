#include "models/device_kernels.h"

#include <c10/util/Exception.h>

#include <atomic>

namespace skipless {

namespace {

std::atomic<bool> in_use = false;

}  // namespace

bool has_device_kernels() {
#ifdef SKIPLESS_CUDA_KERNELS
  return true;
#else
  return false;
#endif
}

void use_device_kernels(bool use) {
  TORCH_CHECK(!use || has_device_kernels(), "this build has no CUDA kernels");
  in_use = use;
}

bool device_kernels_in_use() {
  return in_use;
}

}  // namespace skipless
