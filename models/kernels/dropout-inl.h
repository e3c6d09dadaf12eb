// Dropout of a row by random numbers that are a pure function of a seed and their place, for the kernels of one SIMD
// target.
#if defined(SKIPLESS_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPLESS_DROPOUT_INL_H_
#undef SKIPLESS_DROPOUT_INL_H_
#else
#define SKIPLESS_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

/// SplitMix64's finaliser (Steele, Lea and Flood, 2014): every bit of x moves half of the bits of the result.
inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// Row i of M: its two keys, and the 32-bit numbers below which a value is dropped.
struct DropoutRow {
  uint32_t key_1, key_2, threshold;
  float scale;  // 1/(1 - p)

  DropoutRow(uint64_t seed, int64_t i, double p) {
    const uint64_t keys = mixed(mixed(seed) + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15U);
    key_1 = static_cast<uint32_t>(keys);
    key_2 = static_cast<uint32_t>(keys >> 32);
    threshold = static_cast<uint32_t>(p * 0x1p32);
    scale = static_cast<float>(1 / (1 - p));
  }
};

/// The finaliser of 32-bit MurmurHash3.
template <class D32>
HWY_INLINE hn::Vec<D32> mixed(D32 d, hn::Vec<D32> x) {
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x85EBCA6BU));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<13>(x)), hn::Set(d, 0xC2B2AE35U));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// x_j *= M_ij where p is not 0; `columns` is a multiple of lanes().
HWY_INLINE void drop(uint64_t seed, int64_t i, double p, float* x, int64_t columns) {
  if (p == 0) return;
  const DropoutRow row(seed, i, p);
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> d32;
  for (int64_t j = 0; j < columns; j += lanes()) {
    const auto place = hn::Iota(d32, static_cast<uint32_t>(j));
    const auto random =
        mixed(d32, hn::Add(mixed(d32, hn::Add(place, hn::Set(d32, row.key_1))), hn::Set(d32, row.key_2)));
    const auto is_dropped = hn::RebindMask(d, hn::Lt(random, hn::Set(d32, row.threshold)));
    const auto grown = hn::Mul(hn::LoadU(d, x + j), hn::Set(d, row.scale));
    hn::StoreU(hn::IfThenZeroElse(is_dropped, grown), d, x + j);
  }
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
