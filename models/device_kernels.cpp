#include "models/device_kernels.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <atomic>

#ifdef SKIPLESS_CUDA_KERNELS
#include "models/kernels/cuda/calls.h"
#endif

namespace skipless {

namespace {

#ifdef SKIPLESS_CUDA_KERNELS
constexpr const kernels::DeviceCalls* kCudaCalls = &kernels::cuda::kCalls;
#else
constexpr const kernels::DeviceCalls* kCudaCalls = nullptr;
#endif

std::atomic<bool> in_use = false;
std::atomic<const kernels::DeviceCalls*> calls_on_cpu = nullptr;

const kernels::DeviceCalls* calls_for(const at::Tensor& x) {
  return x.is_cuda() ? kCudaCalls : x.is_cpu() ? calls_on_cpu.load() : nullptr;
}

}  // namespace

bool has_device_kernels() {
  return kCudaCalls != nullptr;
}

void use_device_kernels(bool use) {
  TORCH_CHECK(!use || has_device_kernels(), "this build has no CUDA kernels");
  in_use = use;
}

bool device_kernels_in_use() {
  return in_use;
}

void use_device_calls_on_cpu(const kernels::DeviceCalls* calls) {
  calls_on_cpu = calls;
}

bool has_device_element(const at::Tensor& x) {
  if (calls_for(x) == nullptr || (x.is_cuda() && !device_kernels_in_use())) return false;
  const auto type = x.scalar_type();
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

DeviceRun::DeviceRun(const at::Tensor& x)
    : guard_(x.device()),
      calls_(calls_for(x)),
      stream_(x.is_cuda() ? c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(x.device()).native_handle() : nullptr) {
  TORCH_CHECK(calls_ != nullptr, "no device kernels for a tensor on ", x.device());
}

}  // namespace skipless
