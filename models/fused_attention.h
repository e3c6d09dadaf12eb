// Shaped attention on a CPU as one operation, forward and backward (kernels/shaped_attention_kernel.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

struct AttentionMask;

/// The gains of the attention matrix, each of shape [1] or [H, 1, 1].
struct HeadGainTensors {
  at::Tensor alpha, beta, gamma;
};

/// Whether fused_attention() can take these: on a CPU, float32 or bfloat16, as many queries as keys, no cache.
bool can_fuse(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask);

/// (alpha*I + beta*A - gamma*C) V of q, k, v [B, H, T, dh] -> [B, H, T, dh] in the dtype of v, which lies in memory as
/// [B, T, H, dh]. No T x T matrix stands in memory, in neither direction. Entries of A are dropped with probability
/// `dropout`; LibTorch's default generator then gives one number, from which all of them follow.
at::Tensor fused_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const HeadGainTensors& gains,
                           const AttentionMask& mask, double dropout = 0);

}  // namespace skipless
