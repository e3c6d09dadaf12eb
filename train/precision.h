// In which precision the matrix products of training run, and how it is chosen.
#pragma once

#include <c10/core/Device.h>

#include <span>
#include <string>

#include "configs/schema.h"

namespace skipless {

/// fp16 and bf16: matrix products by LibTorch's autocast. Weights, optimizer, gains, norms, softmax and loss are
/// float32 in every precision.
enum class Precision { fp32, fp16, bf16, automatic };
std::span<const EnumName<Precision>> enum_names(Precision);

/// What a choice rests on.
struct DeviceTraits {
  bool is_cuda = false;
  int major = 0;  // compute capability
  int minor = 0;
  bool has_cpu_bf16 = false;  // AVX512-BF16 or AMX-BF16
};

DeviceTraits traits_of(at::Device device);

struct PrecisionChoice {
  Precision precision = Precision::fp32;  // never automatic
  std::string reason;                     // "compute capability 7.5"
  bool is_slow = false;                   // asked for, but slower here than fp32
};

/// automatic: on CUDA bf16 from compute capability 8.0 on, fp16 from 7.0 on, else fp32; on a CPU bf16 with AVX512-BF16
/// or AMX, else fp32. UserError for bf16 on CUDA below 8.0, which would only be emulated.
PrecisionChoice choose_precision(Precision asked, const DeviceTraits& traits);

}  // namespace skipless
