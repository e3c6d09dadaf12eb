// Rows of a head, float32 or bfloat16, to packed float32 and back, for the kernels of one SIMD target.
#if defined(SKIPLESS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPLESS_ROWS_INL_H_
#undef SKIPLESS_ROWS_INL_H_
#else
#define SKIPLESS_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "models/kernels/rows.h"
#include "models/kernels/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipless::kernels::HWY_NAMESPACE {

/// visit(pointer to the first element, of its own type)
template <class Visit>
HWY_INLINE void visit_elements(const Rows& rows, int64_t first, const Visit& visit) {
  if (rows.element == Element::float32) {
    visit(static_cast<float*>(rows.data) + first * rows.stride);
  } else {
    visit(static_cast<uint16_t*>(rows.data) + first * rows.stride);
  }
}

/// to [length, width] = factor * rows, 0 beyond dh.
HWY_INLINE void pack(const Rows& rows, int64_t length, int64_t head_size, int64_t width, float factor, float* to) {
  visit_elements(rows, 0, [&](const auto* from) {
    for (int64_t t = 0; t < length; ++t) {
      for_values(head_size, [&](auto d, int64_t j) {
        hn::StoreU(hn::Mul(load(d, from + t * rows.stride + j), hn::Set(d, factor)), d, to + t * width + j);
      });
      for (int64_t d = head_size; d < width; ++d) to[t * width + d] = 0;
    }
  });
}

/// The transposed rows in panels of `panel` columns, each [dh, panel], 0 beyond T.
HWY_INLINE void pack_transposed(const Rows& rows, int64_t length, int64_t head_size, int64_t panel, float* to) {
  // In blocks, so that the lines of both sides are still in cache when their next elements are wanted.
  constexpr int64_t kColumns = 8, kRows = 16;
  for (int64_t first = 0; first < length; first += panel, to += head_size * panel) {
    const int64_t count = std::min(panel, length - first);
    visit_elements(rows, first, [&](const auto* from) {
      for (int64_t d0 = 0; d0 < head_size; d0 += kColumns) {
        for (int64_t t0 = 0; t0 < count; t0 += kRows) {
          for (int64_t d = d0; d < std::min(head_size, d0 + kColumns); ++d) {
            for (int64_t t = t0; t < std::min(count, t0 + kRows); ++t) {
              to[d * panel + t] = hn::GetLane(load(OneFloat(), from + t * rows.stride + d));
            }
          }
        }
      }
    });
    for (int64_t d = 0; d < head_size; ++d) std::fill(to + d * panel + count, to + (d + 1) * panel, 0.0F);
  }
}

/// Rows from `first` on = factor * from [length, width], without what is beyond dh.
HWY_INLINE void unpack(const float* from, int64_t first, int64_t length, int64_t head_size, int64_t width, float factor,
                       const Rows& rows) {
  visit_elements(rows, first, [&](auto* to) {
    for (int64_t t = 0; t < length; ++t) {
      for_values(head_size, [&](auto d, int64_t j) {
        store(d, hn::Mul(hn::LoadU(d, from + t * width + j), hn::Set(d, factor)), to + t * rows.stride + j);
      });
    }
  });
}

}  // namespace skipless::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
