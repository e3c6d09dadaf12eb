#include "models/kernels/norm_kernel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/kernels/norm_kernel.cpp"
#include <hwy/foreach_target.h>
// Behind it:
#include <hwy/highway.h>

#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

/// Rows whose gradients of scale and shift are added up in float32 before they are added in float64.
constexpr int64_t kBlockRows = 64;

/// Memory of one thread, kept from call to call.
struct NormSpace {
  std::vector<float> x, y, grad_y, grad_x, grad_scale, grad_shift;
};

inline NormSpace& norm_space() {
  thread_local NormSpace space;
  return space;
}

struct RowStatistics {
  float mean, inverse;
};

HWY_INLINE RowStatistics statistics_of(const NormShape& shape, const float* x) {
  const auto width = static_cast<float>(shape.width);
  const auto sum_of_squares = [&](float mean) {
    return sum_values(shape.width, [&](auto d, int64_t j) {
      const auto centred = hn::Sub(hn::LoadU(d, x + j), hn::Set(d, mean));
      return hn::Mul(centred, centred);
    });
  };
  if (!shape.is_layer_norm) {
    return {.mean = 0, .inverse = 1 / (std::sqrt(sum_of_squares(0) / width) + shape.eps)};
  }
  const float mean = sum_values(shape.width, [&](auto d, int64_t j) { return hn::LoadU(d, x + j); }) / width;
  return {.mean = mean, .inverse = 1 / std::sqrt(sum_of_squares(mean) / width + shape.eps)};
}

void Forward(const NormShape& shape, int64_t first, int64_t last, const Rows& x, const float* scale, const float* shift,
             const Rows& y, float* mean, float* inverse) {
  auto& space = norm_space();
  float* const x_space = sized(space.x, shape.width);
  float* const y_space = sized(space.y, shape.width);
  for (int64_t i = first; i < last; ++i) {
    const float* const from = float_row(x, i, shape.width, x_space);
    float* const to = open_row(y, i, y_space);
    const auto row = statistics_of(shape, from);
    if (shape.is_layer_norm) mean[i] = row.mean;
    inverse[i] = row.inverse;
    for_values(shape.width, [&](auto d, int64_t j) {
      const auto n = hn::Mul(hn::Sub(hn::LoadU(d, from + j), hn::Set(d, row.mean)), hn::Set(d, row.inverse));
      const auto scaled = hn::Mul(hn::LoadU(d, scale + j), n);
      hn::StoreU(shift == nullptr ? scaled : hn::Add(scaled, hn::LoadU(d, shift + j)), d, to + j);
    });
    store_row(to, y, i, shape.width);
  }
}

/// dx of one row, and its part of dscale and dshift.
HWY_INLINE void row_backward(const NormShape& shape, const RowStatistics& row, const float* x, const float* scale,
                             const float* grad_y, float* grad_x, float* grad_scale, float* grad_shift) {
  const auto normed = [&](auto d, int64_t j) {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + j), hn::Set(d, row.mean)), hn::Set(d, row.inverse));
  };
  const auto gradient = [&](auto d, int64_t j) { return hn::Mul(hn::LoadU(d, scale + j), hn::LoadU(d, grad_y + j)); };
  const auto width = static_cast<float>(shape.width);
  const float along =
      sum_values(shape.width, [&](auto d, int64_t j) { return hn::Mul(gradient(d, j), normed(d, j)); }) / width;
  const float mean = shape.is_layer_norm ? sum_values(shape.width, gradient) / width : 0;
  const float rest = 1 - shape.eps * row.inverse;  // rms * r of an RMSNorm
  const float factor = shape.is_layer_norm ? along : rest > 0 ? along / rest : 0;
  for_values(shape.width, [&](auto d, int64_t j) {
    const auto n = normed(d, j), dy = hn::LoadU(d, grad_y + j);
    const auto straight = hn::Sub(gradient(d, j), hn::Set(d, mean));
    hn::StoreU(hn::Add(hn::LoadU(d, grad_scale + j), hn::Mul(dy, n)), d, grad_scale + j);
    if (grad_shift != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, grad_shift + j), dy), d, grad_shift + j);
    hn::StoreU(hn::Mul(hn::Sub(straight, hn::Mul(n, hn::Set(d, factor))), hn::Set(d, row.inverse)), d, grad_x + j);
  });
}

void Backward(const NormShape& shape, int64_t first, int64_t last, const Rows& x, const float* scale, const float* mean,
              const float* inverse, const Rows& grad_y, const Rows& grad_x, double* grad_scale, double* grad_shift) {
  auto& space = norm_space();
  const int64_t width = shape.width;
  float* const x_space = sized(space.x, width);
  float* const grad_y_space = sized(space.grad_y, width);
  float* const grad_x_space = sized(space.grad_x, width);
  float* const scale_sums = sized(space.grad_scale, width);
  float* const shift_sums = grad_shift == nullptr ? nullptr : sized(space.grad_shift, width);
  for (int64_t begin = first; begin < last; begin += kBlockRows) {
    std::fill_n(scale_sums, width, 0.0F);
    if (shift_sums != nullptr) std::fill_n(shift_sums, width, 0.0F);
    for (int64_t i = begin; i < std::min(last, begin + kBlockRows); ++i) {
      const RowStatistics row{.mean = shape.is_layer_norm ? mean[i] : 0, .inverse = inverse[i]};
      float* const to = open_row(grad_x, i, grad_x_space);
      row_backward(shape, row, float_row(x, i, width, x_space), scale, float_row(grad_y, i, width, grad_y_space), to,
                   scale_sums, shift_sums);
      store_row(to, grad_x, i, width);
    }
    for (int64_t j = 0; j < width; ++j) grad_scale[j] += scale_sums[j];
    if (shift_sums == nullptr) continue;
    for (int64_t j = 0; j < width; ++j) grad_shift[j] += shift_sums[j];
  }
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipless::kernels {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void norm_forward(const NormShape& shape, int64_t first, int64_t last, const Rows& x, const float* scale,
                  const float* shift, const Rows& y, float* mean, float* inverse) {
  HWY_DYNAMIC_DISPATCH(Forward)(shape, first, last, x, scale, shift, y, mean, inverse);
}

void norm_backward(const NormShape& shape, int64_t first, int64_t last, const Rows& x, const float* scale,
                   const float* mean, const float* inverse, const Rows& grad_y, const Rows& grad_x, double* grad_scale,
                   double* grad_shift) {
  HWY_DYNAMIC_DISPATCH(Backward)(shape, first, last, x, scale, mean, inverse, grad_y, grad_x, grad_scale, grad_shift);
}

}  // namespace skipless::kernels
#endif
