#include "models/kernels/gained_sum_kernel.h"

#include <vector>

#include "models/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/kernels/gained_sum_kernel.cpp"
#include <hwy/foreach_target.h>
// Behind it:
#include <hwy/highway.h>

#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

/// Memory of one thread, kept from call to call.
struct SumSpace {
  std::vector<float> x, y, out;
};

inline SumSpace& sum_space() {
  thread_local SumSpace space;
  return space;
}

void Forward(const GainedSum& sum, int64_t first, int64_t last, const Rows& out) {
  auto& space = sum_space();
  float* const x_space = sized(space.x, sum.width);
  float* const y_space = sized(space.y, sum.width);
  float* const out_space = sized(space.out, sum.width);
  for (int64_t i = first; i < last; ++i) {
    const float* const x = sum.x.data == nullptr ? nullptr : float_row(sum.x, i, sum.width, x_space);
    const float* const y = float_row(sum.y, i, sum.width, y_space);
    float* const to = open_row(out, i, out_space);
    for_values(sum.width, [&](auto d, int64_t j) {
      const auto gained = hn::Mul(hn::Set(d, sum.b), hn::LoadU(d, y + j));
      hn::StoreU(x == nullptr ? gained : hn::Add(hn::Mul(hn::Set(d, sum.a), hn::LoadU(d, x + j)), gained), d, to + j);
    });
    store_row(to, out, i, sum.width);
  }
}

/// Row i of `grad` = gain * g, where it is wanted.
HWY_INLINE void scale_row(float gain, const float* g, int64_t width, const Rows& grad, int64_t i, float* space) {
  if (grad.data == nullptr) return;
  float* const to = open_row(grad, i, space);
  for_values(width, [&](auto d, int64_t j) { hn::StoreU(hn::Mul(hn::Set(d, gain), hn::LoadU(d, g + j)), d, to + j); });
  store_row(to, grad, i, width);
}

HWY_INLINE float product_sum(const float* a, const float* b, int64_t n) {
  return sum_values(n, [&](auto d, int64_t j) { return hn::Mul(hn::LoadU(d, a + j), hn::LoadU(d, b + j)); });
}

GainGradients Backward(const GainedSum& sum, int64_t first, int64_t last, const Rows& grad_out, const Rows& grad_x,
                       const Rows& grad_y) {
  auto& space = sum_space();
  float* const row_space = sized(space.x, sum.width);
  float* const g_space = sized(space.y, sum.width);
  float* const out_space = sized(space.out, sum.width);
  GainGradients gradients;
  for (int64_t i = first; i < last; ++i) {
    const float* const g = float_row(grad_out, i, sum.width, g_space);
    if (sum.x.data != nullptr) {
      gradients.a += product_sum(g, float_row(sum.x, i, sum.width, row_space), sum.width);
    }
    gradients.b += product_sum(g, float_row(sum.y, i, sum.width, row_space), sum.width);
    scale_row(sum.a, g, sum.width, grad_x, i, out_space);
    scale_row(sum.b, g, sum.width, grad_y, i, out_space);
  }
  return gradients;
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipless::kernels {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void gained_sum_forward(const GainedSum& sum, int64_t first, int64_t last, const Rows& out) {
  HWY_DYNAMIC_DISPATCH(Forward)(sum, first, last, out);
}

GainGradients gained_sum_backward(const GainedSum& sum, int64_t first, int64_t last, const Rows& grad_out,
                                  const Rows& grad_x, const Rows& grad_y) {
  return HWY_DYNAMIC_DISPATCH(Backward)(sum, first, last, grad_out, grad_x, grad_y);
}

}  // namespace skipless::kernels
#endif
