// RMSNorm and LayerNorm on a CPU, forward and backward, row by row.
//
//   RMSNorm    m = 0             r = 1 / (sqrt(mean_j x_j^2) + eps)
//   LayerNorm  m = mean_j x_j    r = 1 / sqrt(mean_j (x_j - m)^2 + eps)
//   n_j = (x_j - m) * r          y_j = scale_j * n_j (+ shift_j)
//
//   g_j = scale_j * dy_j         dscale_j = sum over rows of dy_j * n_j     dshift_j = sum over rows of dy_j
//   RMSNorm    dx_j = r * (g_j - c * n_j * mean_k g_k n_k),  c = 1 / (1 - eps * r), 0 in a row of zeros
//   LayerNorm  dx_j = r * (g_j - mean_k g_k - n_j * mean_k g_k n_k)
#pragma once

#include <cstdint>

#include "models/kernels/rows.h"

namespace skipless::kernels {

struct NormShape {
  int64_t width;
  float eps;
  bool is_layer_norm;
};

/// All arithmetic is float32. Rows `first` to `last` - 1; `mean` (LayerNorm alone) and `inverse`: m and r of each row;
/// `shift` may be null.
void norm_forward(const NormShape& shape, int64_t first, int64_t last, const Rows& x, const float* scale,
                  const float* shift, const Rows& y, float* mean, float* inverse);

/// Adds to `grad_scale` [width] and, unless it is null, to `grad_shift` [width].
void norm_backward(const NormShape& shape, int64_t first, int64_t last, const Rows& x, const float* scale,
                   const float* mean, const float* inverse, const Rows& grad_y, const Rows& grad_x, double* grad_scale,
                   double* grad_shift);

}  // namespace skipless::kernels
