// The sum of two branches under their gains as one operation, forward and backward, on a CPU
// (kernels/gained_sum_kernel.h) and on a device (device_kernels.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// a*x + b*y in float32, of tensors of one shape that have a fused form (kernel_rows.h); a and b: float32 of one value.
/// `x` may be undefined: b*y.
at::Tensor fused_gained_sum(const at::Tensor& a, const at::Tensor& x, const at::Tensor& b, const at::Tensor& y);

}  // namespace skipless
