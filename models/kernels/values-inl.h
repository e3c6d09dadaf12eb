// Vectors of float32 from float32 or bfloat16 in memory and back, and loops over them, for the kernels of one SIMD
// target.
#if defined(SKIPLESS_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPLESS_VALUES_INL_H_
#undef SKIPLESS_VALUES_INL_H_
#else
#define SKIPLESS_VALUES_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
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
/// To the nearest bfloat16, to the even one of two; a NaN stays one.
template <class D>
HWY_INLINE void store(D d, hn::Vec<D> x, uint16_t* bfloat16) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<uint32_t, D> d32;
  const auto bits = hn::BitCast(d32, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7FFFU)));
  const auto is_number = hn::BitCast(d32, hn::VecFromMask(d, hn::Eq(x, x)));
  const auto kept = hn::IfVecThenElse(is_number, rounded, hn::Set(d32, 0x7FC00000U));
  hn::StoreU(hn::TruncateTo(d16, hn::ShiftRight<16>(kept)), d16, bfloat16);
}

/// exp(x) for x <= 0: 0 where float32 has nothing smaller, NaN of NaN, which hn::Exp() is not made for.
template <class D>
HWY_INLINE hn::Vec<D> exp_of_negative(D d, hn::Vec<D> x) {
  const auto e = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0F)), hn::Exp(d, x));
  return hn::IfThenElse(hn::Eq(x, x), e, x);
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
inline float* sized(std::vector<float>& buffer, int64_t n) {
  if (static_cast<int64_t>(buffer.size()) < n) buffer.resize(static_cast<size_t>(n));
  return buffer.data();
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
