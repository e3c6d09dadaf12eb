#include "train/device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/format.h>
#include <torch/cuda.h>

#include <charconv>
#include <mutex>
#include <optional>
#include <string_view>

#include "configs/error.h"
#include "configs/printable.h"

namespace skipless {

namespace {

/// -1: the CPU. Nothing: not a device's name.
std::optional<int> device_index(std::string_view name) {
  if (name == "cpu") return -1;
  if (name == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  int index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool plain = !digits.empty() && digits.front() != '-' && (digits.size() == 1 || digits.front() != '0');
  if (error != std::errc() || end != digits.data() + digits.size() || !plain || index > 127) return std::nullopt;
  return index;
}

}  // namespace

bool built_with_cuda() {
  return at::CUDAHooksRegistry()->Has("CUDAHooks");
}

bool is_device_name(const std::string& name) {
  return device_index(name).has_value();
}

std::string devices_seen() {
  if (!built_with_cuda()) return "this build has no CUDA";
  const int count = torch::cuda::device_count();
  if (count == 0) return "no CUDA device";
  std::string text = fmt::format("{} CUDA device{} (", count, count == 1 ? "" : "s");
  for (int i = 0; i < count; ++i) text += fmt::format("{}cuda:{}", i == 0 ? "" : ", ", i);
  return text + ")";
}

at::Device find_device(const std::string& name) {
  const auto index = device_index(name);
  if (!index) throw UserError(fmt::format("device {} is not one of cpu, cuda, cuda:N", in_quotes(name)));
  if (*index < 0) return at::Device(at::kCPU);
  if (!built_with_cuda() || *index >= torch::cuda::device_count()) {
    throw UserError(fmt::format("device {}: not here; seen: the CPU, {}", in_quotes(name), devices_seen()));
  }
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(*index));
}

void synchronize(at::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

at::Generator generator_of(at::Device device) {
  return device.is_cpu() ? at::detail::getDefaultCPUGenerator() : at::globalContext().defaultGenerator(device);
}

void seed_generators(at::Device device, int64_t seed) {
  // at::manual_seed would ask for CUDA devices even in a run on the CPU.
  for (const auto& d : {at::Device(at::kCPU), device}) {
    auto generator = generator_of(d);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_current_seed(static_cast<uint64_t>(seed));
  }
}

}  // namespace skipless
