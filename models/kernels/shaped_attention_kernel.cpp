#include "models/kernels/shaped_attention_kernel.h"

#include <algorithm>
#include <vector>

#include "models/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/kernels/shaped_attention_kernel.cpp"
#include <hwy/foreach_target.h>
// Behind it:
#include <hwy/highway.h>

#include "models/kernels/rows-inl.h"
#include "models/kernels/shaped_attention_rows-inl.h"
#include "models/kernels/tile_product-inl.h"
#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

/// Of S and its gradient, in cache at once: few, because a causal mask leaves half of the block on the diagonal unused.
constexpr int64_t kBlockRows = 24;

/// Memory of one thread, kept from call to call.
struct Workspace {
  std::vector<float> q, k, v, k_t, v_t, grad_out, s, grad_p, block, grad_k, grad_v;
};

inline Workspace& workspace() {
  thread_local Workspace space;
  return space;
}

/// A head and the sizes of its packed matrices.
struct TileHead : Head {
  int64_t width;    // dh, rounded up to whole vectors
  int64_t panel;    // columns of a panel of K^T and V^T
  int64_t columns;  // T, rounded up to whole panels

  explicit TileHead(const HeadShape& shape)
      : Head(shape),
        width(rounded_up(head_size, lanes())),
        panel(kTileVectors * lanes()),
        columns(rounded_up(length, panel)) {}
};

/// c [rows, n] = a [rows, dh] times the first n columns of a matrix in panels.
HWY_INLINE void panel_product(const TileHead& head, Strided a, const float* panels, float* c, int64_t rows, int64_t n) {
  for (int64_t first = 0; first < n; first += head.panel) {
    const int64_t count = std::min(head.panel, rounded_up(n - first, lanes()));
    product<false>(a, panels + first * head.head_size, head.panel, c + first, head.columns, rows, count,
                   head.head_size);
  }
}

void Forward(const HeadShape& shape, const HeadGains& gains, const Rows& q, const Rows& k, const Rows& v,
             const Rows& out, float* log_sum) {
  const TileHead head(shape);
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
      log_sum[first + r] = forward_row(head, gains, first + r, 1, p + r * head.columns, columns);
    }
    product<false>({p, head.columns, 1}, packed_v, width, o, width, rows, width, end);
    unpack(o, first, rows, dh, width, 1, out);
  }
}

HeadGainGradients Backward(const HeadShape& shape, const HeadGains& gains, const Rows& q, const Rows& k, const Rows& v,
                           const float* log_sum, const Rows& grad_out, const Rows& grad_q, const Rows& grad_k,
                           const Rows& grad_v) {
  const TileHead head(shape);
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
      backward_row(head, gains, first + r, 1, log_sum[first + r], p + r * head.columns, grad_s + r * head.columns,
                   columns, sums);
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
