// Whether this project's own CUDA kernels take the place of LibTorch's operations on a GPU.
#pragma once

namespace skipless {

/// Whether this build has them (it was made with a CUDA toolkit).
bool has_device_kernels();

/// One switch for the process, off at first: LibTorch's operations are the default on a GPU until scripts/gpu_check.sh
/// has passed on that card. On in a build without such kernels is a programmer's mistake.
void use_device_kernels(bool use);
bool device_kernels_in_use();

}  // namespace skipless
