#include "models/kernels/shaped_attention_bf16_kernel.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/kernels/shaped_attention_bf16_kernel.cpp"
#include <hwy/foreach_target.h>
// Behind it:
#include <hwy/highway.h>

#include "models/kernels/pairs-inl.h"
#include "models/kernels/shaped_attention_rows-inl.h"
#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

/// Of S and its gradient, in cache at once.
constexpr int64_t kPairRows = 32;
/// Columns of a panel of K^T, V^T, dK^T and dV^T: a factor then fits into the innermost cache.
constexpr int64_t kPairPanel = 128;

/// Memory of one thread, kept from call to call.
struct PairWorkspace {
  std::vector<uint32_t> k_t, v_t, row_pairs, block_pairs, q_t, grad_t, p_pairs, grad_s_pairs;
  std::vector<uint16_t> rounded;
  std::vector<float> s, grad_p, block, grad_k_t, grad_v_t;
};

inline PairWorkspace& pair_workspace() {
  thread_local PairWorkspace space;
  return space;
}

struct PairHead : Head {
  PairProduct product;
  int64_t columns;  // T, rounded up to whole panels
  int64_t pitch;    // between rows of S: no power of two, or they would share lines of the cache

  PairHead(const HeadShape& shape, PairProduct pair_product)
      : Head(shape), product(pair_product), columns(rounded_up(length, kPairPanel)), pitch(columns + 4 * lanes()) {}

  /// visit(first column, columns) of the panels below n.
  template <class Visit>
  HWY_INLINE void for_panels(int64_t n, const Visit& visit) const {
    for (int64_t first = 0; first < n; first += kPairPanel) visit(first, std::min(kPairPanel, n - first));
  }
  /// to: panels [dh/2, panel] of the transposed rows.
  HWY_INLINE void pack_panels(const Rows& rows, uint32_t* to) const {
    for_panels(length, [&](int64_t first, int64_t n) {
      pack_transposed(rows, first, n, head_size, kPairPanel, to + first * head_size / 2);
    });
  }
  /// c [n_rows, n] = rows from `first` on times panels.
  HWY_INLINE void panel_product(const Rows& rows, int64_t first, int64_t n_rows, const uint32_t* panels, int64_t n,
                                float* c) const {
    for_panels(n, [&](int64_t column, int64_t count) {
      product(n_rows, count, head_size, bfloat16_row(rows, first), rows.stride, panels + column * head_size / 2,
              kPairPanel, c + column, pitch, false);
    });
  }
  /// Panels [dh, panel] of a transposed gradient += block_t [dh, kPairRows] times pairs of rows [n_rows/2, pitch].
  HWY_INLINE void add_transposed(const uint32_t* block_t, const uint32_t* pairs, int64_t n_rows, int64_t n,
                                 float* panels) const {
    for_panels(n, [&](int64_t column, int64_t count) {
      product(head_size, count, rounded_up(n_rows, 2), reinterpret_cast<const uint16_t*>(block_t), kPairRows,
              pairs + column, pitch, panels + column * head_size, kPairPanel, true);
    });
  }
  /// to [dh, kPairRows] = rows first..first + n_rows - 1, transposed; 0 behind them.
  HWY_INLINE void pack_block(const Rows& rows, int64_t first, int64_t n_rows, std::vector<uint32_t>& space,
                             uint32_t* to) const {
    auto* const pairs = sized(space, kPairRows / 2 * head_size);
    pack_row_pairs(rows, first, n_rows, head_size, kPairRows / 2, pairs);
    transpose(pairs, head_size, kPairRows / 2, head_size, to, kPairRows / 2);
  }
  /// rows = factor * the transposed panels, + share * others.
  HWY_INLINE void unpack_panels(const float* panels, float factor, const Rows* others, float share,
                                std::vector<float>& space, const Rows& rows) const {
    auto* const turned = sized(space, kPairPanel * head_size);
    for_panels(length, [&](int64_t first, int64_t n) {
      transpose(reinterpret_cast<const uint32_t*>(panels + first * head_size), kPairPanel, head_size, kPairPanel,
                reinterpret_cast<uint32_t*>(turned), head_size);
      for (int64_t i = 0; i < n; ++i) {
        write_row(turned + i * head_size, factor, others, share, rows, first + i, head_size);
      }
    });
  }
};

/// P without alpha on its diagonal, which is taken of float32 instead.
inline HeadGains off_diagonal(const HeadGains& gains) {
  return {.alpha = 0, .beta = gains.beta, .gamma = gains.gamma};
}

void PairForward(PairProduct product, const HeadShape& shape, const HeadGains& gains, const Rows& q, const Rows& k,
                 const Rows& v, const Rows& out, float* log_sum) {
  const PairHead head(shape, product);
  auto& space = pair_workspace();
  const int64_t t = head.length, dh = head.head_size;
  auto* const k_t = sized(space.k_t, head.columns * dh / 2);
  auto* const v_pairs = sized(space.row_pairs, head.columns / 2 * dh);
  float* const s = sized(space.s, kPairRows * head.pitch);
  auto* const p = sized(space.rounded, kPairRows * head.pitch);
  float* const o = sized(space.block, kPairRows * dh);
  head.pack_panels(k, k_t);
  pack_row_pairs(v, 0, t, dh, rounded_up(t, lanes()) / 2, v_pairs);
  for (int64_t first = 0; first < t; first += kPairRows) {
    const int64_t rows = std::min(kPairRows, t - first);
    const int64_t columns = rounded_up(head.end(first + rows - 1), lanes());
    head.panel_product(q, first, rows, k_t, columns, s);
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = s + r * head.pitch;
      log_sum[first + r] = forward_row(head, off_diagonal(gains), first + r, head.scale, row, columns);
      store_bfloat16(row, columns, p + r * head.pitch);
    }
    product(rows, dh, columns, p, head.pitch, v_pairs, dh, o, dh, false);
    for (int64_t r = 0; r < rows; ++r) write_row(o + r * dh, 1, &v, gains.alpha, out, first + r, dh);
  }
}

HeadGainGradients PairBackward(PairProduct product, const HeadShape& shape, const HeadGains& gains, const Rows& q,
                               const Rows& k, const Rows& v, const float* log_sum, const Rows& grad_out,
                               const Rows& grad_q, const Rows& grad_k, const Rows& grad_v) {
  const PairHead head(shape, product);
  auto& space = pair_workspace();
  const int64_t t = head.length, dh = head.head_size;
  auto* const k_t = sized(space.k_t, head.columns * dh / 2);
  auto* const v_t = sized(space.v_t, head.columns * dh / 2);
  auto* const k_pairs = sized(space.row_pairs, head.columns / 2 * dh);
  auto* const q_t = sized(space.q_t, kPairRows / 2 * dh);
  auto* const grad_t = sized(space.grad_t, kPairRows / 2 * dh);
  float* const s = sized(space.s, kPairRows * head.pitch);
  float* const grad_s = sized(space.grad_p, kPairRows * head.pitch);
  auto* const rounded = sized(space.rounded, kPairRows * head.pitch);
  auto* const p_pairs = sized(space.p_pairs, kPairRows / 2 * head.pitch);
  auto* const grad_s_pairs = sized(space.grad_s_pairs, kPairRows / 2 * head.pitch);
  float* const dq = sized(space.block, kPairRows * dh);
  float* const dk_t = sized(space.grad_k_t, head.columns * dh);
  float* const dv_t = sized(space.grad_v_t, head.columns * dh);
  head.pack_panels(k, k_t);
  head.pack_panels(v, v_t);
  pack_row_pairs(k, 0, t, dh, rounded_up(t, lanes()) / 2, k_pairs);
  std::fill_n(dk_t, head.columns * dh, 0.0F);
  std::fill_n(dv_t, head.columns * dh, 0.0F);
  HeadGainGradients sums;
  for (int64_t first = 0; first < t; first += kPairRows) {
    const int64_t rows = std::min(kPairRows, t - first);
    const int64_t columns = rounded_up(head.end(first + rows - 1), lanes());
    head.panel_product(q, first, rows, k_t, columns, s);
    head.panel_product(grad_out, first, rows, v_t, columns, grad_s);
    for (int64_t r = 0; r < rows; ++r) {
      float* const g = grad_s + r * head.pitch;
      backward_row(head, off_diagonal(gains), first + r, head.scale, log_sum[first + r], s + r * head.pitch, g, columns,
                   sums);
      store_bfloat16(g, columns, rounded + r * head.pitch);
    }
    for (int64_t r = 0; r < rows; r += 2) {
      const auto pair = [&](const float* x, uint32_t* to) {
        const float* const even = x + r * head.pitch;
        store_pairs(even, r + 1 < rows ? even + head.pitch : nullptr, columns, to + r / 2 * head.pitch);
      };
      pair(s, p_pairs);
      pair(grad_s, grad_s_pairs);
    }
    product(rows, dh, columns, rounded, head.pitch, k_pairs, dh, dq, dh, false);
    for (int64_t r = 0; r < rows; ++r) write_row(dq + r * dh, head.scale, nullptr, 0, grad_q, first + r, dh);
    head.pack_block(q, first, rows, space.block_pairs, q_t);
    head.pack_block(grad_out, first, rows, space.block_pairs, grad_t);
    head.add_transposed(q_t, grad_s_pairs, rows, columns, dk_t);
    head.add_transposed(grad_t, p_pairs, rows, columns, dv_t);
  }
  head.unpack_panels(dk_t, head.scale, nullptr, 0, space.block, grad_k);
  head.unpack_panels(dv_t, 1, &grad_out, gains.alpha, space.block, grad_v);
  return sums;
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipless::kernels {

HWY_EXPORT(PairForward);
HWY_EXPORT(PairBackward);

bool has_pairs(const Rows& rows, int64_t head_size) {
  return rows.element == Element::bfloat16 && head_size % 2 == 0 && rows.stride % 2 == 0 &&
         reinterpret_cast<uintptr_t>(rows.data) % sizeof(uint32_t) == 0;
}

void shaped_attention_forward_bf16(PairProduct product, const HeadShape& shape, const HeadGains& gains, const Rows& q,
                                   const Rows& k, const Rows& v, const Rows& out, float* log_sum) {
  HWY_DYNAMIC_DISPATCH(PairForward)(product, shape, gains, q, k, v, out, log_sum);
}

HeadGainGradients shaped_attention_backward_bf16(PairProduct product, const HeadShape& shape, const HeadGains& gains,
                                                 const Rows& q, const Rows& k, const Rows& v, const float* log_sum,
                                                 const Rows& grad_out, const Rows& grad_q, const Rows& grad_k,
                                                 const Rows& grad_v) {
  return HWY_DYNAMIC_DISPATCH(PairBackward)(product, shape, gains, q, k, v, log_sum, grad_out, grad_q, grad_k, grad_v);
}

}  // namespace skipless::kernels
#endif
