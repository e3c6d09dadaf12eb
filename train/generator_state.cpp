#include "train/generator_state.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

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

void restore_generators(at::Device device, std::map<std::string, at::Tensor>& tensors, const std::string& source,
                        bool was_on_cuda) {
  const auto cpu = tensors.extract(kCpu), cuda = tensors.extract(kCuda);
  const auto require = [&](bool is_there, const char* name) {
    if (!is_there) throw UserError(fmt::format("{}: no tensor '{}'", source, name));
  };
  require(!cpu.empty(), kCpu);
  require(!cuda.empty() || !was_on_cuda, kCuda);
  restore(at::kCPU, kCpu, cpu.mapped(), source);
  if (device.is_cuda() && was_on_cuda) restore(device, kCuda, cuda.mapped(), source);
  if (device.is_cuda() != was_on_cuda) {
    spdlog::warn("the run moves to {}: what is drawn there (dropout) begins anew", device.str());
  }
}

}  // namespace skipless
