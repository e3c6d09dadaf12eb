// What a device computes for the fast paths of models/, on raw pointers of its memory. Formulas: norm_kernel.h,
// cross_entropy_kernel.h, gained_sum_kernel.h, device/shaped_combine_body.h, device/activation_body.h.
//
// All arithmetic is float32. Values are float32, float16 or bfloat16; of two tensors of one call with different 16-bit
// types std::invalid_argument is thrown. A call only hands out work to `stream` (a cudaStream_t): the memory must live
// until that is done. What the device refuses is thrown as std::runtime_error.
#pragma once

#include <cstdint>

#include "models/kernels/cross_entropy_kernel.h"
#include "models/kernels/device/activation_body.h"
#include "models/kernels/device/shaped_combine_body.h"
#include "models/kernels/norm_kernel.h"
#include "models/kernels/rows.h"

namespace skipless::kernels {

/// `shift` may be null; `mean` is for LayerNorm alone. y, mean [rows] and inverse [rows] are written.
using NormForward = void(const NormShape& shape, int64_t rows, const Rows& x, const float* scale, const float* shift,
                         const Rows& y, float* mean, float* inverse, void* stream);

/// Rows whose parts of the gradients of scale and shift are one sum.
constexpr int64_t kNormPartRows = 64;

/// `grad_scale` and `grad_shift` (null: none): [ceil(rows / kNormPartRows), width], to be added up over the parts.
using NormBackward = void(const NormShape& shape, int64_t rows, const Rows& x, const float* scale, const float* mean,
                          const float* inverse, const Rows& grad_y, const Rows& grad_x, float* grad_scale,
                          float* grad_shift, void* stream);

/// `losses` [rows]. The gradient over the logits is multiplied with `gradient_scale`.
using CrossEntropy = void(const LogitShape& shape, int64_t rows, const Rows& logits, const int64_t* targets,
                          float gradient_scale, float* losses, void* stream);

/// `a` and x may be absent. out [rows, width].
using GainedSumForward = void(int64_t rows, int64_t width, const float* a, const Rows& x, const float* b, const Rows& y,
                              float* out, void* stream);

/// `grad_a` and `grad_b`: [rows], to be added up. Without x: no a, x, grad_x, grad_a.
using GainedSumBackward = void(int64_t rows, int64_t width, const float* a, const Rows& x, const float* b,
                               const Rows& y, const float* grad_out, const Rows& grad_x, const Rows& grad_y,
                               float* grad_a, float* grad_b, void* stream);

/// Where values [B, T, H, dh] lie: those of a head side by side.
struct Heads {
  void* data;
  Element element;
  int64_t sequence_stride, token_stride, head_stride;
};

struct CombineCall {
  int64_t sequences, length, heads, head_size;
  bool causal;
  bool centred;           // false: no gamma, and no memory for sums
  const bool* counts;     // [B, T], which tokens the mean is over without a causal mask; null: all
  const float* inverses;  // [B], of their numbers; null: 1/T
  int64_t alpha_stride, beta_stride, gamma_stride;  // from one head's gain to the next; 0: all have one
  const float *alpha, *beta, *gamma;

  int64_t chunks() const { return (length + kCombineChunk - 1) / kCombineChunk; }
};

/// v and out have one type. `sums`: [B, chunks(), H, dh], memory to work in.
using CombineForward = void(const CombineCall& call, const Heads& v, const Heads& o, const Heads& out, float* sums,
                            void* stream);

/// v, grad_out and grad_v have one type, and so have o and grad_o. `sums`: [2, B, chunks(), H, dh]. `grad_gains`: [3,
/// B, chunks(), H, dh], to be added up.
using CombineBackward = void(const CombineCall& call, const Heads& v, const Heads& o, const Heads& grad_out,
                             const Heads& grad_v, const Heads& grad_o, float* sums, float* grad_gains, void* stream);

/// All in one type.
using ActivationForward = void(const ActivationShape& shape, int64_t rows, const Rows& x, const Rows& y, void* stream);
using ActivationBackward = void(const ActivationShape& shape, int64_t rows, const Rows& x, const Rows& grad_y,
                                const Rows& grad_x, void* stream);

/// Of one device.
struct DeviceCalls {
  NormForward* norm_forward;
  NormBackward* norm_backward;
  CrossEntropy* cross_entropy;
  GainedSumForward* gained_sum_forward;
  GainedSumBackward* gained_sum_backward;
  CombineForward* combine_forward;
  CombineBackward* combine_backward;
  ActivationForward* activation_forward;
  ActivationBackward* activation_backward;
};

}  // namespace skipless::kernels
