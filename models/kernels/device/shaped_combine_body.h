// The terms of shaped attention around a softmax attention O = A V that another library makes, for one column
// (sequence, head, one of dh values):
//
//   out_t = alpha*v_t + beta*o_t - gamma*m_t
//   causal: m_t = (v_0 + ... + v_t) / (t + 1)     else: m_t = m = sum of the v_s that count / their number
//
//   do_t = beta*g_t     dalpha = sum_t g_t v_t     dbeta = sum_t g_t o_t     dgamma = -sum_t g_t m_t
//   causal: dv_t = alpha*g_t - gamma*sum_{s >= t} g_s / (s + 1)
//   else:   dv_t = alpha*g_t - gamma*[t counts]*sum_s g_s / number
//
// A column is cut into chunks of tokens, so that long sequences are work for many threads: first every chunk's sums,
// then every chunk, which begins with those of the chunks before it (causal) or of all.
#pragma once

#include <cstdint>

#include "models/kernels/device/lanes.h"

namespace skipless::kernels {

/// Tokens of a chunk.
constexpr int64_t kCombineChunk = 64;

/// Of one sequence.
struct CombineShape {
  bool causal;
  bool centred;        // false: there is no C, and gamma is 0
  const bool* counts;  // [T], which tokens m is over without a causal mask; null: all
  float inverse;       // of their number, 0 of none
};

struct CombineGains {
  float alpha, beta, gamma;
};

/// Value t of a column.
template <class T>
struct Column {
  T* first;
  int64_t stride;

  SKIPLESS_DEVICE T& operator[](int64_t t) const { return first[t * stride]; }
};

/// Tokens `first` to `last` - 1.
struct Chunk {
  int64_t first, last;
};

SKIPLESS_DEVICE bool counts_at(const CombineShape& shape, int64_t t) {
  return shape.causal || shape.counts == nullptr || shape.counts[t];
}

/// Of the chunk's v_t that count.
template <class V>
SKIPLESS_DEVICE float combine_sum(const CombineShape& shape, const Chunk& chunk, const Column<const V>& v) {
  float sum = 0;
  for (int64_t t = chunk.first; t < chunk.last; ++t) sum += counts_at(shape, t) ? static_cast<float>(v[t]) : 0;
  return sum;
}

/// Of the chunk's g_t / (t + 1) (causal) or g_t.
template <class V>
SKIPLESS_DEVICE float combine_gradient_sum(const CombineShape& shape, const Chunk& chunk,
                                           const Column<const V>& grad_out) {
  float sum = 0;
  for (int64_t t = chunk.first; t < chunk.last; ++t) {
    const auto g = static_cast<float>(grad_out[t]);
    sum += shape.causal ? g / static_cast<float>(t + 1) : g;
  }
  return sum;
}

/// m_t from the sum of v up to t (causal), or of all that count.
SKIPLESS_DEVICE float combine_mean(const CombineShape& shape, int64_t t, float sum) {
  return shape.causal ? sum / static_cast<float>(t + 1) : sum * shape.inverse;
}

/// `sum`: combine_sum() of the chunks before (causal) or of all.
template <class V, class O>
SKIPLESS_DEVICE void combine_chunk(const CombineShape& shape, const CombineGains& gains, const Chunk& chunk, float sum,
                                   const Column<const V>& v, const Column<const O>& o, const Column<V>& out) {
  for (int64_t t = chunk.first; t < chunk.last; ++t) {
    const auto value = static_cast<float>(v[t]);
    float shaped = gains.beta * static_cast<float>(o[t]);
    if (shape.causal) sum += value;
    // The difference first: it is exactly 0 where A is C and beta is gamma.
    if (shape.centred) shaped -= gains.gamma * combine_mean(shape, t, sum);
    out[t] = static_cast<V>(gains.alpha * value + shaped);
  }
}

/// Writes dv and do; returns the chunk's parts of the gradients of the gains. `grad_sum`: combine_gradient_sum() of the
/// chunks behind (causal) or of all.
template <class V, class O>
SKIPLESS_DEVICE CombineGains combine_backward_chunk(const CombineShape& shape, const CombineGains& gains,
                                                    const Chunk& chunk, float sum, float grad_sum,
                                                    const Column<const V>& v, const Column<const O>& o,
                                                    const Column<const V>& grad_out, const Column<V>& grad_v,
                                                    const Column<O>& grad_o) {
  CombineGains of_gains{0, 0, 0};
  for (int64_t t = chunk.first; t < chunk.last; ++t) {
    const auto g = static_cast<float>(grad_out[t]), value = static_cast<float>(v[t]);
    if (shape.causal) sum += value;
    of_gains.alpha += g * value;
    of_gains.beta += g * static_cast<float>(o[t]);
    if (shape.centred) of_gains.gamma -= g * combine_mean(shape, t, sum);
    grad_o[t] = static_cast<O>(gains.beta * g);
  }
  for (int64_t t = chunk.last - 1; t >= chunk.first; --t) {
    const auto g = static_cast<float>(grad_out[t]);
    float of_value = gains.alpha * g;
    if (shape.causal) grad_sum += g / static_cast<float>(t + 1);
    if (shape.centred && counts_at(shape, t)) of_value -= gains.gamma * grad_sum * (shape.causal ? 1 : shape.inverse);
    grad_v[t] = static_cast<V>(of_value);
  }
  return of_gains;
}

}  // namespace skipless::kernels
