// The CUDA devices of this machine, as its driver sees them, whether this build has CUDA or not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace skipless {

struct CudaDevice {
  std::string name;  // "NVIDIA GeForce RTX 2080 Ti"
  int major = 0;     // compute capability
  int minor = 0;
  std::size_t bytes = 0;
};

/// In the order of cuda:0, cuda:1, ... Empty without a driver or device.
std::vector<CudaDevice> cuda_driver_devices();

}  // namespace skipless
