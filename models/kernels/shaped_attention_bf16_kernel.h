// Shaped attention (shaped_attention_kernel.h) of bfloat16 heads on a processor that multiplies bfloat16: S, dP and all
// of a row's arithmetic are float32; P without its diagonal alpha, and dS, are rounded to bfloat16 to be multiplied.
#pragma once

#include <cstdint>

#include "models/kernels/shaped_attention_kernel.h"

namespace skipless::kernels {

/// C [m, n] = A [m, k] B [k, n], or C += that, of bfloat16 with sums in float32; k is even. B lies in pairs: element
/// i * b_stride + j is B_2i,j in its lower half and B_2i+1,j in its upper one.
using PairProduct = void (*)(int64_t m, int64_t n, int64_t k, const uint16_t* a, int64_t a_stride, const uint32_t* b,
                             int64_t b_stride, float* c, int64_t c_stride, bool add);

/// Whether these rows of a head can be read in pairs: bfloat16, an even number of values at whole pairs' addresses.
bool has_pairs(const Rows& rows, int64_t head_size);

/// As shaped_attention_forward(), of rows that has_pairs().
void shaped_attention_forward_bf16(PairProduct product, const HeadShape& shape, const HeadGains& gains, const Rows& q,
                                   const Rows& k, const Rows& v, const Rows& out, float* log_sum);

/// As shaped_attention_backward(), of rows that has_pairs().
HeadGainGradients shaped_attention_backward_bf16(PairProduct product, const HeadShape& shape, const HeadGains& gains,
                                                 const Rows& q, const Rows& k, const Rows& v, const float* log_sum,
                                                 const Rows& grad_out, const Rows& grad_q, const Rows& grad_k,
                                                 const Rows& grad_v);

}  // namespace skipless::kernels
