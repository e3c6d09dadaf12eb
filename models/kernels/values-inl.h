// Vectors of float32 from float32 or bfloat16 in memory and back, and loops over them, for the kernels of one SIMD
// target.
#if defined(SKIPLESS_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPLESS_VALUES_INL_H_
#undef SKIPLESS_VALUES_INL_H_
#else
#define SKIPLESS_VALUES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <vector>

#include "models/kernels/rows.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using OneFloat = hn::CappedTag<float, 1>;

inline int64_t lanes() {
  return static_cast<int64_t>(hn::Lanes(FloatTag()));
}

inline int64_t rounded_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// visit(tag, i) for whole vectors from i = 0 on, then for the values that are left, one by one.
template <class Visit>
HWY_INLINE void for_values(int64_t n, const Visit& visit) {
  int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) visit(FloatTag(), i);
  for (; i < n; ++i) visit(OneFloat(), i);
}

/// The sum of value(tag, i) over them.
template <class Value>
HWY_INLINE float sum_values(int64_t n, const Value& value) {
  auto sums = hn::Zero(FloatTag());
  auto rest = hn::Zero(OneFloat());
  int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) sums = hn::Add(sums, value(FloatTag(), i));
  for (; i < n; ++i) rest = hn::Add(rest, value(OneFloat(), i));
  return hn::GetLane(hn::SumOfLanes(FloatTag(), sums)) + hn::GetLane(rest);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* values) {
  return hn::LoadU(d, values);
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const uint16_t* bfloat16) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<uint32_t, D> d32;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, bfloat16))));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> x, float* values) {
  hn::StoreU(x, d, values);
}
/// The nearest bfloat16, the even one of two, in the upper half of each value; the lower half is noise. A NaN stays
/// one.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> bfloat16_bits(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::BitCast(d32, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7FFFU)));
  const auto is_number = hn::BitCast(d32, hn::VecFromMask(d, hn::Eq(x, x)));
  return hn::IfVecThenElse(is_number, rounded, hn::Set(d32, 0x7FC00000U));
}
template <class D>
HWY_INLINE void store(D d, hn::Vec<D> x, uint16_t* bfloat16) {
  const hn::Rebind<uint16_t, D> d16;
  hn::StoreU(hn::TruncateTo(d16, hn::ShiftRight<16>(bfloat16_bits(d, x))), d16, bfloat16);
}

/// exp(x) for x <= 0: 0 below -87, where float32 has nothing smaller to the full; NaN of NaN. As 2^n * 2^f, n being the
/// integer next to y = x / ln(2) and 2^f, |f| <= 1/2, the polynomial of degree 6 that is off by 2e-9 of it at most.
/// What y is rounded by shows: within 1e-7 of exp(x) + |x|*exp(x).
template <class D>
HWY_INLINE hn::Vec<D> exp_of_negative(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> d32;
  // Beside it float32 has whole numbers only, so that a sum with it is rounded to n, which stands in its last bits.
  const auto large = hn::Set(d, 0x1.8p23F);
  const auto y = hn::Mul(x, hn::Set(d, 1.44269504F));
  const auto shifted = hn::Add(y, large);
  const auto f = hn::Sub(y, hn::Sub(shifted, large));
  auto power = hn::Set(d, 1.535335177e-4F);
  for (const float c : {1.339887734e-3F, 9.618437848e-3F, 5.550332367e-2F, 2.402264774e-1F, 6.931471825e-1F, 1.0F}) {
    power = hn::MulAdd(power, f, hn::Set(d, c));
  }
  // The last bits come to the exponent; those of a NaN are 0.
  const auto scaled = hn::Add(hn::BitCast(d32, power), hn::ShiftLeft<23>(hn::BitCast(d32, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0F)), hn::BitCast(d, scaled));
}

/// The n values of row i as float32: themselves, or a copy in `space`.
HWY_INLINE const float* float_row(const Rows& rows, int64_t i, int64_t n, float* space) {
  if (rows.element == Element::float32) return static_cast<const float*>(rows.data) + i * rows.stride;
  const auto* const from = static_cast<const uint16_t*>(rows.data) + i * rows.stride;
  for_values(n, [&](auto d, int64_t j) { hn::StoreU(load(d, from + j), d, space + j); });
  return space;
}

/// Where float32 values for them can be written; store_row() then brings them there.
HWY_INLINE float* open_row(const Rows& rows, int64_t i, float* space) {
  return rows.element == Element::float32 ? static_cast<float*>(rows.data) + i * rows.stride : space;
}
HWY_INLINE void store_row(const float* row, const Rows& rows, int64_t i, int64_t n) {
  if (rows.element == Element::float32) return;
  auto* const to = static_cast<uint16_t*>(rows.data) + i * rows.stride;
  for_values(n, [&](auto d, int64_t j) { store(d, hn::LoadU(d, row + j), to + j); });
}

/// A buffer that its thread keeps from call to call.
template <class T>
inline T* sized(std::vector<T>& buffer, int64_t n) {
  if (static_cast<int64_t>(buffer.size()) < n) buffer.resize(static_cast<size_t>(n));
  return buffer.data();
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
