#include "models/kernels/shaped_attention_kernel.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "models/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/kernels/shaped_attention_kernel.cpp"
#include <hwy/foreach_target.h>
// Behind it:
#include <hwy/highway.h>

#include "models/kernels/dropout-inl.h"
#include "models/kernels/rows-inl.h"
#include "models/kernels/tile_product-inl.h"
#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

/// Of S and its gradient, in cache at once: few, because a causal mask leaves half of the block on the diagonal unused.
constexpr int64_t kBlockRows = 24;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Memory of one thread, kept from call to call.
struct Workspace {
  std::vector<float> q, k, v, k_t, v_t, grad_out, s, grad_p, block, grad_k, grad_v;
};

inline Workspace& workspace() {
  thread_local Workspace space;
  return space;
}

/// The shape of a head with what follows from it.
struct Head : HeadShape {
  int64_t n_kept;
  int64_t seen;     // keys from this one on are kept by no row
  int64_t width;    // dh, rounded up to whole vectors
  int64_t panel;    // columns of a panel of K^T and V^T
  int64_t columns;  // T, rounded up to whole panels
  float scale;      // 1/sqrt(dh)

  explicit Head(const HeadShape& shape)
      : HeadShape(shape),
        n_kept(kept == nullptr ? length : std::count(kept, kept + length, true)),
        seen(centre_over_all || kept == nullptr ? length : length - trailing_padding()),
        width(rounded_up(head_size, lanes())),
        panel(kTileVectors * lanes()),
        columns(rounded_up(length, panel)),
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

/// c [rows, n] = a [rows, dh] times the first n columns of a matrix in panels.
HWY_INLINE void panel_product(const Head& head, Strided a, const float* panels, float* c, int64_t rows, int64_t n) {
  for (int64_t first = 0; first < n; first += head.panel) {
    const int64_t count = std::min(head.panel, rounded_up(n - first, lanes()));
    product<false>(a, panels + first * head.head_size, head.panel, c + first, head.columns, rows, count,
                   head.head_size);
  }
}

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

/// s = exp(s - shift); returns its sum.
HWY_INLINE float exponentials(float* s, int64_t columns, float shift) {
  const FloatTag d;
  const auto by = hn::Set(d, shift);
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < columns; j += lanes()) {
    const auto e = exp_of_negative(d, hn::Sub(hn::LoadU(d, s + j), by));
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

void Forward(const HeadShape& shape, const HeadGains& gains, const Rows& q, const Rows& k, const Rows& v,
             const Rows& out, float* log_sum) {
  const Head head(shape);
  auto& space = workspace();
  const int64_t t = head.length, dh = head.head_size, width = head.width;
  float* const packed_q = sized(space.q, t * width);
  float* const packed_v = sized(space.v, t * width);
  float* const k_t = sized(space.k_t, head.columns * dh);
  float* const p = sized(space.s, kBlockRows * head.columns);
  float* const o = sized(space.block, kBlockRows * width);
  pack(q, t, dh, width, head.scale, packed_q);
  pack(v, t, dh, width, 1, packed_v);
  pack_transposed(k, t, dh, head.panel, k_t);
  for (int64_t first = 0; first < t; first += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, t - first), end = head.end(first + rows - 1);
    const int64_t columns = rounded_up(end, lanes());
    panel_product(head, {packed_q + first * width, width, 1}, k_t, p, rows, end);
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = p + r * head.columns;
      hide_keys(head, first + r, row, columns);
      const float most = largest(row, columns);
      const bool blind = most == kMinusInfinity;
      const float sum = exponentials(row, columns, blind ? 0 : most);
      log_sum[first + r] = blind ? 0 : most + std::log(sum);
      drop(head.seed, first + r, head.dropout, row, columns);
      shape_row(head, gains, first + r, blind ? 0 : gains.beta / sum, row);
    }
    product<false>({p, head.columns, 1}, packed_v, width, o, width, rows, width, end);
    unpack(o, first, rows, dh, width, 1, out);
  }
}

HeadGainGradients Backward(const HeadShape& shape, const HeadGains& gains, const Rows& q, const Rows& k, const Rows& v,
                           const float* log_sum, const Rows& grad_out, const Rows& grad_q, const Rows& grad_k,
                           const Rows& grad_v) {
  const Head head(shape);
  auto& space = workspace();
  const int64_t t = head.length, dh = head.head_size, width = head.width;
  float* const packed_q = sized(space.q, t * width);
  float* const packed_k = sized(space.k, t * width);
  float* const packed_grad = sized(space.grad_out, t * width);
  float* const k_t = sized(space.k_t, head.columns * dh);
  float* const v_t = sized(space.v_t, head.columns * dh);
  float* const p = sized(space.s, kBlockRows * head.columns);
  float* const grad_s = sized(space.grad_p, kBlockRows * head.columns);
  float* const dq = sized(space.block, kBlockRows * width);
  float* const dk = sized(space.grad_k, t * width);
  float* const dv = sized(space.grad_v, t * width);
  pack(q, t, dh, width, head.scale, packed_q);
  pack(k, t, dh, width, 1, packed_k);
  pack(grad_out, t, dh, width, 1, packed_grad);
  pack_transposed(k, t, dh, head.panel, k_t);
  pack_transposed(v, t, dh, head.panel, v_t);
  std::fill_n(dk, t * width, 0.0F);
  std::fill_n(dv, t * width, 0.0F);
  HeadGainGradients sums;
  for (int64_t first = 0; first < t; first += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, t - first), end = head.end(first + rows - 1);
    const int64_t columns = rounded_up(end, lanes());
    panel_product(head, {packed_q + first * width, width, 1}, k_t, p, rows, end);
    panel_product(head, {packed_grad + first * width, width, 1}, v_t, grad_s, rows, end);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t i = first + r;
      float* const a = p + r * head.columns;
      float* const g = grad_s + r * head.columns;
      hide_keys(head, i, a, columns);
      exponentials(a, columns, log_sum[i]);
      sums.alpha += g[i];
      sums.gamma -= centred_sum(head, i, g) * head.centre(i);
      drop(head.seed, i, head.dropout, g, columns);
      const float mean = dot(a, g, columns);
      sums.beta += mean;
      score_gradients(gains.beta, mean, a, g, columns);
      drop(head.seed, i, head.dropout, a, columns);
      shape_row(head, gains, i, gains.beta, a);
    }
    product<false>({grad_s, head.columns, 1}, packed_k, width, dq, width, rows, width, end);
    unpack(dq, first, rows, dh, width, head.scale, grad_q);
    product<true>({grad_s, 1, head.columns}, packed_q + first * width, width, dk, width, end, width, rows);
    product<true>({p, 1, head.columns}, packed_grad + first * width, width, dv, width, end, width, rows);
  }
  unpack(dk, 0, t, dh, width, 1, grad_k);
  unpack(dv, 0, t, dh, width, 1, grad_v);
  return sums;
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipless::kernels {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void shaped_attention_forward(const HeadShape& shape, const HeadGains& gains, const Rows& q, const Rows& k,
                              const Rows& v, const Rows& out, float* log_sum) {
  HWY_DYNAMIC_DISPATCH(Forward)(shape, gains, q, k, v, out, log_sum);
}

HeadGainGradients shaped_attention_backward(const HeadShape& shape, const HeadGains& gains, const Rows& q,
                                            const Rows& k, const Rows& v, const float* log_sum, const Rows& grad_out,
                                            const Rows& grad_q, const Rows& grad_k, const Rows& grad_v) {
  return HWY_DYNAMIC_DISPATCH(Backward)(shape, gains, q, k, v, log_sum, grad_out, grad_q, grad_k, grad_v);
}

}  // namespace skipless::kernels
#endif
