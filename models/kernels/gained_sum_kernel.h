// o = a*x + b*y for scalar gains a and b on a CPU, forward and backward.
//
//   dx = a*do     dy = b*do     da = sum_i do_i x_i     db = sum_i do_i y_i
#pragma once

#include <cstdint>

#include "models/kernels/rows.h"

namespace skipless::kernels {

/// x and o, y, and their gradients: rows of `width` values. x may be absent (`data` null): o = b*y.
struct GainedSum {
  int64_t width;
  float a, b;
  Rows x, y;
};

/// All arithmetic is float32. Rows `first` to `last` - 1.
void gained_sum_forward(const GainedSum& sum, int64_t first, int64_t last, const Rows& out);

struct GainGradients {
  double a = 0, b = 0;
};
/// Writes dx and dy, and returns da and db of these rows. A gradient that is not wanted has `data` null.
GainGradients gained_sum_backward(const GainedSum& sum, int64_t first, int64_t last, const Rows& grad_out,
                                  const Rows& grad_x, const Rows& grad_y);

}  // namespace skipless::kernels
