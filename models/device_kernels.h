// Whether this project's own CUDA kernels take the place of LibTorch's operations on a GPU, and how they are called.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include "models/kernels/device_calls.h"

namespace skipless {

/// Whether this build has them (it was made with a CUDA toolkit).
bool has_device_kernels();

/// One switch for the process, off at first: LibTorch's operations are the default on a GPU until scripts/gpu_check.sh
/// has passed on that card. On in a build without such kernels is a programmer's mistake.
void use_device_kernels(bool use);
bool device_kernels_in_use();

/// For tests: tensors of a CPU are worked on by these, which are the same sources compiled for it; null: by none.
void use_device_calls_on_cpu(const kernels::DeviceCalls* calls);

/// Whether device kernels shall work on x: on a GPU while they are in use; float32, float16 or bfloat16.
bool has_device_element(const at::Tensor& x);

/// Calls on the device of a tensor and on its current stream, as long as it lives.
class DeviceRun {
 public:
  explicit DeviceRun(const at::Tensor& x);
  const kernels::DeviceCalls* operator->() const { return calls_; }
  void* stream() const { return stream_; }

 private:
  c10::DeviceGuard guard_;
  const kernels::DeviceCalls* calls_;
  void* stream_;
};

}  // namespace skipless
