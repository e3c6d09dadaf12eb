#include "train/precision.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "configs/error.h"
#include "train/cuda_driver.h"

namespace skipless {

std::span<const EnumName<Precision>> enum_names(Precision) {
  static constexpr std::array<EnumName<Precision>, 4> kNames{{{Precision::fp32, "fp32"},
                                                              {Precision::fp16, "fp16"},
                                                              {Precision::bf16, "bf16"},
                                                              {Precision::automatic, "auto"}}};
  return kNames;
}

namespace {

bool has_cpu_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;  // processors with AMX have it too
#else
  return false;
#endif
}

}  // namespace

DeviceTraits traits_of(at::Device device) {
  if (!device.is_cuda()) return {.has_cpu_bf16 = has_cpu_bf16()};
  const auto devices = cuda_driver_devices();
  const auto index = static_cast<size_t>(device.index());
  if (index >= devices.size()) {
    throw RunError(fmt::format("{}: the driver does not say its compute capability", device.str()));
  }
  return {.is_cuda = true, .major = devices[index].major, .minor = devices[index].minor};
}

PrecisionChoice choose_precision(Precision asked, const DeviceTraits& traits) {
  if (traits.is_cuda) {
    const auto reason = fmt::format("compute capability {}.{}", traits.major, traits.minor);
    const Precision best = traits.major >= 8 ? Precision::bf16 : traits.major == 7 ? Precision::fp16 : Precision::fp32;
    if (asked == Precision::bf16 && best != Precision::bf16) {
      throw UserError(
          fmt::format("train.precision: bf16 needs compute capability 8.0, and this device has {}.{}; give "
                      "{} or auto",
                      traits.major, traits.minor, name_of(best)));
    }
    return {.precision = asked == Precision::automatic ? best : asked,
            .reason = reason,
            .is_slow = asked == Precision::fp16 && best == Precision::fp32};
  }
  const char* reason =
      traits.has_cpu_bf16 ? "a processor with AVX512-BF16 or AMX" : "a processor without AVX512-BF16 and AMX";
  const Precision best = traits.has_cpu_bf16 ? Precision::bf16 : Precision::fp32;
  return {.precision = asked == Precision::automatic ? best : asked,
          .reason = reason,
          .is_slow = asked == Precision::fp16 || (asked == Precision::bf16 && !traits.has_cpu_bf16)};
}

}  // namespace skipless
