// Matrix products of blocks that stand in cache, for the kernels of one SIMD target (Highway's per-target includes).
#if defined(SKIPLESS_TILE_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPLESS_TILE_PRODUCT_INL_H_
#undef SKIPLESS_TILE_PRODUCT_INL_H_
#else
#define SKIPLESS_TILE_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

// Sums that stand in registers at once: 24 of the 32 that AVX-512 has, 12 of 16 elsewhere.
constexpr int64_t kTileRows = HWY_TARGET <= HWY_AVX3 ? 6 : 4;
constexpr int64_t kTileVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 3;

/// Element (row, column) is at data[row * row_stride + column * column_stride].
struct Strided {
  const float* data;
  int64_t row_stride, column_stride;

  Strided from_row(int64_t row) const { return {data + row * row_stride, row_stride, column_stride}; }
};

/// C [kRows, kVectors * lanes] = A [kRows, depth] B [depth, ..], or C += that; B and C are row-major.
template <int64_t kRows, int64_t kVectors, bool kAdd>
HWY_INLINE void tile(Strided a, const float* b, int64_t b_stride, float* c, int64_t c_stride, int64_t depth) {
  const FloatTag d;
  const int64_t n = lanes();
  FloatVector sum[kRows][kVectors];
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kVectors; ++j) sum[i][j] = kAdd ? hn::LoadU(d, c + i * c_stride + j * n) : hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k) {
    FloatVector row[kVectors];
    for (int64_t j = 0; j < kVectors; ++j) row[j] = hn::LoadU(d, b + k * b_stride + j * n);
    for (int64_t i = 0; i < kRows; ++i) {
      const auto factor = hn::Set(d, a.data[i * a.row_stride + k * a.column_stride]);
      for (int64_t j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(factor, row[j], sum[i][j]);
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kVectors; ++j) hn::StoreU(sum[i][j], d, c + i * c_stride + j * n);
  }
}

template <int64_t kVectors, bool kAdd>
HWY_INLINE void strip(Strided a, const float* b, int64_t b_stride, float* c, int64_t c_stride, int64_t rows,
                      int64_t depth) {
  int64_t i = 0;
  for (; i + kTileRows <= rows; i += kTileRows) {
    tile<kTileRows, kVectors, kAdd>(a.from_row(i), b, b_stride, c + i * c_stride, c_stride, depth);
  }
  for (; i < rows; ++i) tile<1, kVectors, kAdd>(a.from_row(i), b, b_stride, c + i * c_stride, c_stride, depth);
}

/// C [rows, columns] = A [rows, depth] B [depth, columns], or C += that; `columns` is a multiple of lanes().
template <bool kAdd>
HWY_INLINE void product(Strided a, const float* b, int64_t b_stride, float* c, int64_t c_stride, int64_t rows,
                        int64_t columns, int64_t depth) {
  const int64_t n = lanes();
  int64_t j = 0;
  for (; j + kTileVectors * n <= columns; j += kTileVectors * n) {
    strip<kTileVectors, kAdd>(a, b + j, b_stride, c + j, c_stride, rows, depth);
  }
  for (; j < columns; j += n) strip<1, kAdd>(a, b + j, b_stride, c + j, c_stride, rows, depth);
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
