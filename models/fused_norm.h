// RMSNorm and LayerNorm as one operation, forward and backward, on a CPU (kernels/norm_kernel.h) and on a device
// (device_kernels.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

struct FusedNormConfig {
  double eps;
  bool is_layer_norm;
  at::ScalarType result;  // of y: float32 or bfloat16; on a device float16 too
};

/// y of x [.., d], a tensor that has_fused_form(); `scale` [d] and `shift` [d] (undefined: none) are float32.
at::Tensor fused_norm(const FusedNormConfig& config, const at::Tensor& x, const at::Tensor& scale,
                      const at::Tensor& shift);

}  // namespace skipless
