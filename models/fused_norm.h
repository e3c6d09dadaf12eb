// RMSNorm and LayerNorm on a CPU as one operation, forward and backward (kernels/norm_kernel.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

struct FusedNormConfig {
  double eps;
  bool is_layer_norm;
  at::ScalarType result;  // of y: float32 or bfloat16
};

/// y of x [.., d], a tensor that has_kernel_element(); `scale` [d] and `shift` [d] (undefined: none) are float32.
at::Tensor fused_norm(const FusedNormConfig& config, const at::Tensor& x, const at::Tensor& scale,
                      const at::Tensor& shift);

}  // namespace skipless
