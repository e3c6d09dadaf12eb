// The sources of the CUDA kernels compiled for a CPU, one worker doing it all: the same bodies, the same arithmetic of
// rows, chunks and types, the same autograd functions around them.
#pragma once

#define SKIPLESS_PLACE host
#include "models/device_kernels.h"
#include "models/kernels/cuda/calls.h"

namespace skipless::test {

/// While it lives, tensors of a CPU are worked on by them.
struct WithHostCalls {
  WithHostCalls() { use_device_calls_on_cpu(&kernels::host::kCalls); }
  WithHostCalls(const WithHostCalls&) = delete;
  WithHostCalls& operator=(const WithHostCalls&) = delete;
  ~WithHostCalls() { use_device_calls_on_cpu(nullptr); }
};

}  // namespace skipless::test
