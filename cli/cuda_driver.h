// The CUDA devices of this machine by name, as its driver sees them, whether this build has CUDA or not.
#pragma once

#include <string>
#include <vector>

namespace skipless {

/// "cuda:0 NVIDIA GeForce RTX 2080 Ti, compute capability 7.5, 11.0 GB". Empty without a driver or device.
std::vector<std::string> cuda_driver_devices();

}  // namespace skipless
