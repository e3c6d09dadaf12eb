// The CUDA devices of this machine, as its driver sees them, whether this build has CUDA or not.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <string>
#include <vector>

namespace skipless {

struct CudaDevice {
  int index = 0;     // N of cuda:N
  std::string name;  // "NVIDIA GeForce RTX 2080 Ti"
  int major = 0;     // compute capability
  int minor = 0;
  std::size_t bytes = 0;
};

/// Empty without a driver or device.
std::vector<CudaDevice> cuda_driver_devices();

/// Of a CUDA device of LibTorch; "" for the CPU.
std::string cuda_device_name(c10::Device device);

/// "cuda:0 NVIDIA GeForce RTX 2080 Ti, compute capability 7.5, 11.0 GB"
std::string describe(const CudaDevice& device);

}  // namespace skipless
