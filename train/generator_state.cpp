#include "train/generator_state.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <mutex>

#include "configs/error.h"
#include "train/device.h"

namespace skipless {

namespace {

constexpr const char* kCpu = "rng.cpu";
constexpr const char* kCuda = "rng.cuda";

void restore(at::Device device, const char* name, const at::Tensor& saved, const std::string& source) {
  auto generator = generator_of(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  try {
    generator.set_state(saved);
  } catch (const c10::Error&) {
    throw UserError(fmt::format("{}: tensor '{}' is not the state of a generator of random numbers on {}", source, name,
                                device.str()));
  }
}

}  // namespace

void save_generators(at::Device device, std::map<std::string, at::Tensor>& tensors) {
  tensors.emplace(kCpu, generator_of(at::kCPU).get_state());
  if (device.is_cuda()) tensors.emplace(kCuda, generator_of(device).get_state());
}

void restore_generators(at::Device device, std::map<std::string, at::Tensor>& tensors, const std::string& source) {
  const auto cpu = tensors.extract(kCpu), cuda = tensors.extract(kCuda);
  if (cpu.empty()) throw UserError(fmt::format("{}: no tensor '{}'", source, kCpu));
  restore(at::kCPU, kCpu, cpu.mapped(), source);
  // A run that went from the CPU to a device has none yet.
  if (device.is_cuda() && !cuda.empty()) restore(device, kCuda, cuda.mapped(), source);
}

}  // namespace skipless
