// The formulas of norm_kernel.h for one row, and for one column of the gradients of scale and shift.
#pragma once

#include <cmath>

#include "models/kernels/device/values.h"
#include "models/kernels/norm_kernel.h"

namespace skipless::kernels {

/// `shift` may be null; `mean` is written for LayerNorm alone.
template <class Lanes, class X, class Y>
SKIPLESS_DEVICE void norm_forward_row(const Lanes& lanes, const NormShape& shape, const X* x, const float* scale,
                                      const float* shift, Y* y, float* mean, float* inverse) {
  const bool packed = are_packed(x, scale, shift, y);
  const auto width = static_cast<float>(shape.width);
  float m = 0;
  if (shape.is_layer_norm) {
    m = sum_values(lanes, shape.width, packed, [&](auto n, int64_t j) { return load(n, x + j); }) / width;
  }
  const auto square = [&](auto n, int64_t j) {
    const auto centred = load(n, x + j) - m;
    return centred * centred;
  };
  const float mean_square = sum_values(lanes, shape.width, packed, square) / width;
  const float r =
      shape.is_layer_norm ? 1 / std::sqrt(mean_square + shape.eps) : 1 / (std::sqrt(mean_square) + shape.eps);
  if (lanes.lane() == 0) {
    if (shape.is_layer_norm) *mean = m;
    *inverse = r;
  }
  for_values(lanes, shape.width, packed, [&](auto n, int64_t j) {
    const auto scaled = load(n, scale + j) * ((load(n, x + j) - m) * r);
    store(n, shift == nullptr ? scaled : scaled + load(n, shift + j), y + j);
  });
}

/// dx of one row.
template <class Lanes, class X, class Y>
SKIPLESS_DEVICE void norm_backward_row(const Lanes& lanes, const NormShape& shape, const X* x, const float* scale,
                                       float mean, float inverse, const Y* grad_y, X* grad_x) {
  const bool packed = are_packed(x, scale, grad_y, grad_x);
  const auto width = static_cast<float>(shape.width);
  const auto normed = [&](auto n, int64_t j) { return (load(n, x + j) - mean) * inverse; };
  const auto gradient = [&](auto n, int64_t j) { return load(n, scale + j) * load(n, grad_y + j); };
  const auto product = [&](auto n, int64_t j) { return gradient(n, j) * normed(n, j); };
  const float along = sum_values(lanes, shape.width, packed, product) / width;
  const float of_mean = shape.is_layer_norm ? sum_values(lanes, shape.width, packed, gradient) / width : 0;
  const float rest = 1 - shape.eps * inverse;  // rms * r of an RMSNorm
  const float factor = shape.is_layer_norm ? along : rest > 0 ? along / rest : 0;
  for_values(lanes, shape.width, packed, [&](auto n, int64_t j) {
    store(n, (gradient(n, j) - of_mean - normed(n, j) * factor) * inverse, grad_x + j);
  });
}

/// dscale and, unless it is null, dshift of column j from the rows `first` to `last` - 1.
template <class X, class Y>
SKIPLESS_DEVICE void norm_backward_column(const NormShape& shape, int64_t first, int64_t last, int64_t j, const X* x,
                                          const float* mean, const float* inverse, const Y* grad_y, float* grad_scale,
                                          float* grad_shift) {
  float of_scale = 0, of_shift = 0;
  for (int64_t i = first; i < last; ++i) {
    const auto dy = static_cast<float>(grad_y[i * shape.width + j]);
    const float m = shape.is_layer_norm ? mean[i] : 0;
    of_scale += dy * ((static_cast<float>(x[i * shape.width + j]) - m) * inverse[i]);
    of_shift += dy;
  }
  *grad_scale = of_scale;
  if (grad_shift != nullptr) *grad_shift = of_shift;
}

}  // namespace skipless::kernels
