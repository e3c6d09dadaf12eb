#include "models/kernels/cross_entropy_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/kernels/cross_entropy_kernel.cpp"
#include <hwy/foreach_target.h>
// Behind it:
#include <hwy/highway.h>

#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

HWY_INLINE float largest_of(const float* x, int64_t n) {
  const FloatTag d;
  auto most = hn::Set(d, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) most = hn::Max(most, hn::LoadU(d, x + i));
  float of_rest = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < n; ++i) of_rest = std::max(of_rest, x[i]);
  return of_rest;
}

/// The loss of one row; its gradient goes to `to`, which may be `logits`.
HWY_INLINE double row_loss(const LogitShape& shape, const float* logits, int64_t target, float* to) {
  const float most = largest_of(logits, shape.vocab_size);
  const float of_target = logits[target];
  const float sum = sum_values(shape.vocab_size, [&](auto d, int64_t j) {
    const auto e = exp_of_negative(d, hn::Sub(hn::LoadU(d, logits + j), hn::Set(d, most)));
    if (shape.wants_gradient) hn::StoreU(e, d, to + j);
    return e;
  });
  if (shape.wants_gradient) {
    const float inverse = 1 / sum;
    for_values(shape.vocab_size,
               [&](auto d, int64_t j) { hn::StoreU(hn::Mul(hn::LoadU(d, to + j), hn::Set(d, inverse)), d, to + j); });
    std::fill(to + shape.vocab_size, to + shape.columns, 0.0F);
    to[target] -= 1;
  }
  return static_cast<double>(most) + std::log(static_cast<double>(sum)) - static_cast<double>(of_target);
}

double CrossEntropy(const LogitShape& shape, int64_t first, int64_t last, const Rows& logits, const int64_t* targets) {
  thread_local std::vector<float> buffer;
  float* const space = sized(buffer, shape.columns);
  double sum = 0;
  for (int64_t i = first; i < last; ++i) {
    float* const to = open_row(logits, i, space);
    if (targets[i] < 0) {
      if (!shape.wants_gradient) continue;
      std::fill_n(to, shape.columns, 0.0F);
    } else {
      sum += row_loss(shape, float_row(logits, i, shape.columns, space), targets[i], to);
    }
    if (shape.wants_gradient) store_row(to, logits, i, shape.columns);
  }
  return sum;
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipless::kernels {

HWY_EXPORT(CrossEntropy);

double cross_entropy(const LogitShape& shape, int64_t first, int64_t last, const Rows& logits, const int64_t* targets) {
  return HWY_DYNAMIC_DISPATCH(CrossEntropy)(shape, first, last, logits, targets);
}

}  // namespace skipless::kernels
#endif
