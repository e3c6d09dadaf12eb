// The formulas of gained_sum_kernel.h for one row. The gains are read where they lie.
#pragma once

#include "models/kernels/device/values.h"

namespace skipless::kernels {

/// `a` and `x` may be null: b*y.
template <class Lanes, class X, class Y>
SKIPLESS_DEVICE void gained_sum_row(const Lanes& lanes, int64_t width, const float* a, const X* x, const float* b,
                                    const Y* y, float* out) {
  for_values(lanes, width, are_packed(x, y, out), [&](auto n, int64_t j) {
    const auto gained = load(n, y + j) * *b;
    store(n, x == nullptr ? gained : load(n, x + j) * *a + gained, out + j);
  });
}

/// dx and dy of one row, and its parts of da and db; all but dy and db are null where `x` is.
template <class Lanes, class X, class Y>
SKIPLESS_DEVICE void gained_sum_backward_row(const Lanes& lanes, int64_t width, const float* a, const X* x,
                                             const float* b, const Y* y, const float* grad_out, X* grad_x, Y* grad_y,
                                             float* grad_a, float* grad_b) {
  const bool packed = are_packed(x, y, grad_out, grad_x, grad_y);
  float of_a = 0, of_b = 0;
  for_values(lanes, width, packed, [&](auto n, int64_t j) {
    const auto g = load(n, grad_out + j);
    of_b += (g * load(n, y + j)).sum();
    store(n, g * *b, grad_y + j);
    if (x == nullptr) return;
    of_a += (g * load(n, x + j)).sum();
    store(n, g * *a, grad_x + j);
  });
  of_a = lanes.sum(of_a);
  of_b = lanes.sum(of_b);
  if (lanes.lane() != 0) return;
  *grad_b = of_b;
  if (x != nullptr) *grad_a = of_a;
}

}  // namespace skipless::kernels
