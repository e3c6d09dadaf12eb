// What a row of S, A, P and their gradients goes through, for the kernels of one SIMD target
// (shaped_attention_kernel.h has the formulas).
#if defined(SKIPLESS_SHAPED_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPLESS_SHAPED_ATTENTION_ROWS_INL_H_
#undef SKIPLESS_SHAPED_ATTENTION_ROWS_INL_H_
#else
#define SKIPLESS_SHAPED_ATTENTION_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "models/kernels/dropout-inl.h"
#include "models/kernels/shaped_attention_kernel.h"
#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// The shape of a head with what follows from it.
struct Head : HeadShape {
  int64_t n_kept;
  int64_t seen;  // keys from this one on are kept by no row
  float scale;   // 1/sqrt(dh)

  explicit Head(const HeadShape& shape)
      : HeadShape(shape),
        n_kept(kept == nullptr ? length : std::count(kept, kept + length, true)),
        seen(centre_over_all || kept == nullptr ? length : length - trailing_padding()),
        scale(1.0F / std::sqrt(static_cast<float>(head_size))) {}

  /// From this key on row i of P is 0.
  int64_t end(int64_t i) const { return causal ? i + 1 : std::max(seen, i + 1); }
  /// C of row i is the same at all keys below end(i).
  bool centres_evenly() const { return causal || centre_over_all || kept == nullptr; }
  /// C_ij where it is not 0.
  float centre(int64_t i) const {
    const int64_t n = centres_evenly() ? end(i) : n_kept;
    return n == 0 ? 0 : 1.0F / static_cast<float>(n);
  }

 private:
  int64_t trailing_padding() const {
    return std::find(std::reverse_iterator(kept + length), std::reverse_iterator(kept), true) -
           std::reverse_iterator(kept + length);
  }
};

/// Row i of S becomes -inf at the keys that it may not see, and up to whole vectors.
HWY_INLINE void hide_keys(const Head& head, int64_t i, float* s, int64_t columns) {
  const int64_t end = head.end(i);
  if (head.kept != nullptr) {
    for (int64_t j = 0; j < end; ++j) s[j] = head.kept[j] ? s[j] : kMinusInfinity;
  }
  std::fill(s + end, s + columns, kMinusInfinity);
}

HWY_INLINE float largest(const float* s, int64_t columns) {
  const FloatTag d;
  auto most = hn::Set(d, kMinusInfinity);
  for (int64_t j = 0; j < columns; j += lanes()) most = hn::Max(most, hn::LoadU(d, s + j));
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

/// s = exp(scale*s - shift); returns its sum.
HWY_INLINE float exponentials(float* s, int64_t columns, float scale, float shift) {
  const FloatTag d;
  const auto factor = hn::Set(d, scale), by = hn::Set(d, shift);
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < columns; j += lanes()) {
    const auto e = exp_of_negative(d, hn::MulSub(hn::LoadU(d, s + j), factor, by));
    hn::StoreU(e, d, s + j);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Row i of P from a, where factor * a is beta*A; what is beyond end(i) is 0 and stays so.
HWY_INLINE void shape_row(const Head& head, const HeadGains& gains, int64_t i, float factor, float* a) {
  const FloatTag d;
  const float centre = gains.gamma * head.centre(i);
  const int64_t end = head.end(i);
  if (head.centres_evenly()) {
    const auto by = hn::Set(d, factor), less = hn::Set(d, centre);
    int64_t j = 0;
    // Not as one fused operation: beta*A is rounded as gamma*C is, so that equal ones cancel.
    for (; j + lanes() <= end; j += lanes()) {
      hn::StoreU(hn::Sub(hn::Mul(hn::LoadU(d, a + j), by), less), d, a + j);
    }
    for (; j < end; ++j) {
      const float scaled = a[j] * factor;
      a[j] = scaled - centre;
    }
  } else {
    for (int64_t j = 0; j < end; ++j) {
      const float scaled = a[j] * factor;
      a[j] = head.kept[j] ? scaled - centre : 0;
    }
  }
  a[i] += gains.alpha;
}

/// Sum of g over the keys that row i centres over.
HWY_INLINE double centred_sum(const Head& head, int64_t i, const float* g) {
  const int64_t end = head.end(i);
  double sum = 0;
  int64_t j = 0;
  if (head.centres_evenly()) {
    const FloatTag d;
    auto sums = hn::Zero(d);
    for (; j + lanes() <= end; j += lanes()) sums = hn::Add(sums, hn::LoadU(d, g + j));
    sum = hn::GetLane(hn::SumOfLanes(d, sums));
  }
  for (; j < end; ++j) sum += head.centres_evenly() || head.kept[j] ? g[j] : 0;
  return sum;
}

HWY_INLINE float dot(const float* a, const float* b, int64_t columns) {
  const FloatTag d;
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < columns; j += lanes()) sum = hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), sum);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// dS from dP in place: dS = beta * A * (dP - mean).
HWY_INLINE void score_gradients(float beta, float mean, const float* a, float* g, int64_t columns) {
  const FloatTag d;
  const auto by = hn::Set(d, beta), less = hn::Set(d, mean);
  for (int64_t j = 0; j < columns; j += lanes()) {
    const auto difference = hn::Sub(hn::LoadU(d, g + j), less);
    hn::StoreU(hn::Mul(hn::Mul(by, hn::LoadU(d, a + j)), difference), d, g + j);
  }
}

/// Row i of P from that of S / scale, in place; returns log(sum(exp(S))), or 0 of a row that sees no key.
HWY_INLINE float forward_row(const Head& head, const HeadGains& gains, int64_t i, float scale, float* s,
                             int64_t columns) {
  hide_keys(head, i, s, columns);
  const float most = scale * largest(s, columns);
  const bool blind = most == kMinusInfinity;
  const float sum = exponentials(s, columns, scale, blind ? 0 : most);
  drop(head.seed, i, head.dropout, s, columns);
  shape_row(head, gains, i, blind ? 0 : gains.beta / sum, s);
  return blind ? 0 : most + std::log(sum);
}

/// Rows i of P and dS from those of S / scale and dP, in place.
HWY_INLINE void backward_row(const Head& head, const HeadGains& gains, int64_t i, float scale, float log_sum, float* s,
                             float* g, int64_t columns, HeadGainGradients& sums) {
  hide_keys(head, i, s, columns);
  exponentials(s, columns, scale, log_sum);
  sums.alpha += g[i];
  sums.gamma -= centred_sum(head, i, g) * head.centre(i);
  drop(head.seed, i, head.dropout, g, columns);
  const float mean = dot(s, g, columns);
  sums.beta += mean;
  score_gradients(gains.beta, mean, s, g, columns);
  drop(head.seed, i, head.dropout, s, columns);
  shape_row(head, gains, i, gains.beta, s);
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
