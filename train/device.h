// The device of a run, by name.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace skipless {

/// "cpu", "cuda" (the first one) or "cuda:N". UserError on any other text, or when there is no such device: it says
/// which devices are seen, and whether this build has CUDA at all. "cpu" never touches CUDA.
at::Device find_device(const std::string& name);

/// Whether `name` has the form of a device's name, whatever devices there are.
bool is_device_name(const std::string& name);

/// Whether libtorch_cuda is linked in. Asking starts nothing.
bool built_with_cuda();

/// "2 CUDA devices (cuda:0, cuda:1)", "no CUDA device", "this build has no CUDA".
std::string devices_seen();

/// Waits until the device has done all that was asked of it.
void synchronize(at::Device device);

/// Seeds LibTorch's default generator of the CPU, and of the device.
void seed_generators(at::Device device, int64_t seed);

/// LibTorch's default generator of the device.
at::Generator generator_of(at::Device device);

}  // namespace skipless
