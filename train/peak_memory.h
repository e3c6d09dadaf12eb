// The most memory that was in use.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace skipless {

/// Bytes, since the process began: of a CUDA device what LibTorch held for tensors, of the CPU the whole process's
/// resident memory.
int64_t peak_memory(at::Device device);

/// Of a CUDA device: from now on the peak is that since now. Returns what LibTorch holds for tensors.
int64_t restart_peak_memory(at::Device device);

}  // namespace skipless
