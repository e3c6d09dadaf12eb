#include "models/kernels/cuda/launch.cuh"
#include "models/kernels/device/norm_body.h"

namespace skipless::kernels::SKIPLESS_PLACE {

namespace {

template <class X, class Y>
void launch_norm(const NormShape& shape, int64_t rows, const X* x, const float* scale, const float* shift, Y* y,
                 float* mean, float* inverse, void* stream) {
  for_rows(rows, stream, [=] SKIPLESS_WORK(const OfRow& lanes, int64_t i) {
    norm_forward_row(lanes, shape, x + i * shape.width, scale, shift, y + i * shape.width,
                     mean == nullptr ? nullptr : mean + i, inverse + i);
  });
}

template <class X, class Y>
void launch_norm_backward(const NormShape& shape, int64_t rows, const X* x, const float* scale, const float* mean,
                          const float* inverse, const Y* grad_y, X* grad_x, float* grad_scale, float* grad_shift,
                          void* stream) {
  for_rows(rows, stream, [=] SKIPLESS_WORK(const OfRow& lanes, int64_t i) {
    norm_backward_row(lanes, shape, x + i * shape.width, scale, mean == nullptr ? 0.0F : mean[i], inverse[i],
                      grad_y + i * shape.width, grad_x + i * shape.width);
  });
  const int64_t parts = (rows + kNormPartRows - 1) / kNormPartRows;
  for_items(parts * shape.width, stream, [=] SKIPLESS_WORK(int64_t item) {
    const int64_t first = item / shape.width * kNormPartRows, end = first + kNormPartRows;
    norm_backward_column(shape, first, end < rows ? end : rows, item % shape.width, x, mean, inverse, grad_y,
                         grad_scale + item, grad_shift == nullptr ? nullptr : grad_shift + item);
  });
}

}  // namespace

void norm_forward(const NormShape& shape, int64_t rows, const Rows& x, const float* scale, const float* shift,
                  const Rows& y, float* mean, float* inverse, void* stream) {
  visit_pairs(
      x, y, [&](auto* of_x, auto* of_y) { launch_norm(shape, rows, of_x, scale, shift, of_y, mean, inverse, stream); });
}

void norm_backward(const NormShape& shape, int64_t rows, const Rows& x, const float* scale, const float* mean,
                   const float* inverse, const Rows& grad_y, const Rows& grad_x, float* grad_scale, float* grad_shift,
                   void* stream) {
  visit_pairs(grad_x, grad_y, [&](auto* to, auto* of_y) {
    launch_norm_backward(shape, rows, static_cast<decltype(to)>(x.data), scale, mean, inverse, of_y, to, grad_scale,
                         grad_shift, stream);
  });
}

}  // namespace skipless::kernels::SKIPLESS_PLACE
