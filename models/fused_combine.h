// The terms of shaped attention around LibTorch's softmax attention on a device as one operation, forward and backward
// (kernels/device/shaped_combine_body.h).
#pragma once

#include "models/fused_attention.h"

namespace skipless {

/// Whether fused_combine() can take these: v and o have_device_element() (device_kernels.h), as many values as queries,
/// float32 gains, no cache.
bool can_combine(const at::Tensor& v, const at::Tensor& o, const HeadGainTensors& gains, const AttentionMask& mask);

/// alpha*V + beta*O - gamma*mean_C(V) of v and o = A V, [B, H, T, dh] -> [B, H, T, dh] in the dtype of v, which lies in
/// memory as [B, T, H, dh]. gains.gamma may be undefined: no C.
at::Tensor fused_combine(const at::Tensor& v, const at::Tensor& o, const HeadGainTensors& gains,
                         const AttentionMask& mask);

}  // namespace skipless
