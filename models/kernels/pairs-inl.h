// Matrices of bfloat16 in the order that their products want, and back, for the kernels of one SIMD target. Two values
// are a pair, the first in the lower half of 32 bits.
#if defined(SKIPLESS_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPLESS_PAIRS_INL_H_
#undef SKIPLESS_PAIRS_INL_H_
#else
#define SKIPLESS_PAIRS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "models/kernels/rows.h"
#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

HWY_INLINE const uint16_t* bfloat16_row(const Rows& rows, int64_t i) {
  return static_cast<const uint16_t*>(rows.data) + i * rows.stride;
}

/// to [4, 4] = from [4, 4] transposed
HWY_INLINE void transpose_4x4(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  const hn::FixedTag<uint32_t, 4> d;
  const hn::FixedTag<uint64_t, 2> d64;
  const auto row_0 = hn::LoadU(d, from), row_1 = hn::LoadU(d, from + from_stride);
  const auto row_2 = hn::LoadU(d, from + 2 * from_stride), row_3 = hn::LoadU(d, from + 3 * from_stride);
  const auto left_01 = hn::BitCast(d64, hn::InterleaveLower(d, row_0, row_1));
  const auto left_23 = hn::BitCast(d64, hn::InterleaveLower(d, row_2, row_3));
  const auto right_01 = hn::BitCast(d64, hn::InterleaveUpper(d, row_0, row_1));
  const auto right_23 = hn::BitCast(d64, hn::InterleaveUpper(d, row_2, row_3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, left_01, left_23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, left_01, left_23)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, right_01, right_23)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, right_01, right_23)), d, to + 3 * to_stride);
}

/// to [columns, rows] = from [rows, columns] transposed
HWY_INLINE void transpose(const uint32_t* from, int64_t from_stride, int64_t rows, int64_t columns, uint32_t* to,
                          int64_t to_stride) {
  constexpr int64_t kSide = 4;
  for (int64_t i = 0; i < rows; i += kSide) {
    for (int64_t j = 0; j < columns; j += kSide) {
      const auto* const corner = from + i * from_stride + j;
      auto* const target = to + j * to_stride + i;
      if (i + kSide <= rows && j + kSide <= columns) {
        transpose_4x4(corner, from_stride, target, to_stride);
        continue;
      }
      for (int64_t r = 0; r < std::min(kSide, rows - i); ++r) {
        for (int64_t c = 0; c < std::min(kSide, columns - j); ++c) {
          std::memcpy(target + c * to_stride + r, corner + r * from_stride + c, sizeof(uint32_t));
        }
      }
    }
  }
}

/// to [dh/2, n]: the transposed rows, values 2i and 2i + 1 of a row being a pair; 0 up to `n` where there are fewer.
HWY_INLINE void pack_transposed(const Rows& rows, int64_t first, int64_t count, int64_t head_size, int64_t n,
                                uint32_t* to) {
  // Rows that has_pairs().
  transpose(reinterpret_cast<const uint32_t*>(bfloat16_row(rows, first)), rows.stride / 2, count, head_size / 2, to, n);
  for (int64_t d = 0; d < head_size / 2; ++d) std::fill(to + d * n + count, to + (d + 1) * n, 0U);
}

/// to [n_pairs, dh]: the rows, 2i and 2i + 1 being a row of pairs; 0 behind the last of `count`.
HWY_INLINE void pack_row_pairs(const Rows& rows, int64_t first, int64_t count, int64_t head_size, int64_t n_pairs,
                               uint32_t* to) {
  for (int64_t i = 0; i < n_pairs; ++i, to += head_size) {
    if (2 * i >= count) {
      std::fill_n(to, head_size, 0U);
      continue;
    }
    const auto* const even = bfloat16_row(rows, first + 2 * i);
    const auto* const odd = 2 * i + 1 < count ? bfloat16_row(rows, first + 2 * i + 1) : nullptr;
    for_values(head_size, [&](auto d, int64_t j) {
      const hn::Rebind<uint16_t, decltype(d)> d16;
      const hn::RebindToUnsigned<decltype(d)> d32;
      const auto low = hn::PromoteTo(d32, hn::LoadU(d16, even + j));
      const auto high = odd == nullptr ? hn::Zero(d32) : hn::PromoteTo(d32, hn::LoadU(d16, odd + j));
      hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), d32, to + j);
    });
  }
}

/// to [n] = x rounded to bfloat16
HWY_INLINE void store_bfloat16(const float* x, int64_t n, uint16_t* to) {
  for_values(n, [&](auto d, int64_t j) { store(d, hn::LoadU(d, x + j), to + j); });
}

/// to [n] = pairs of even and odd, rounded to bfloat16; without an odd one 0 in its place.
HWY_INLINE void store_pairs(const float* even, const float* odd, int64_t n, uint32_t* to) {
  for_values(n, [&](auto d, int64_t j) {
    const hn::RebindToUnsigned<decltype(d)> d32;
    const auto low = hn::ShiftRight<16>(bfloat16_bits(d, hn::LoadU(d, even + j)));
    const auto high = odd == nullptr ? hn::Zero(d32) : bfloat16_bits(d, hn::LoadU(d, odd + j));
    hn::StoreU(hn::Or(low, hn::And(high, hn::Set(d32, 0xFFFF0000U))), d32, to + j);
  });
}

/// Row i of `rows` = factor * x, or that + share * row i of `others`.
HWY_INLINE void write_row(const float* x, float factor, const Rows* others, float share, const Rows& rows, int64_t i,
                          int64_t n) {
  auto* const to = static_cast<uint16_t*>(rows.data) + i * rows.stride;
  for_values(n, [&](auto d, int64_t j) {
    auto value = hn::Mul(hn::LoadU(d, x + j), hn::Set(d, factor));
    if (others != nullptr) value = hn::MulAdd(load(d, bfloat16_row(*others, i) + j), hn::Set(d, share), value);
    store(d, value, to + j);
  });
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
