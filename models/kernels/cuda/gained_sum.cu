#include "models/kernels/cuda/launch.cuh"
#include "models/kernels/device/gained_sum_body.h"

namespace skipless::kernels::SKIPLESS_PLACE {

namespace {

template <class T>
SKIPLESS_DEVICE T* offset(T* values, int64_t at) {
  return values == nullptr ? nullptr : values + at;
}

template <class X, class Y>
void launch_gained_sum(int64_t rows, int64_t width, const float* a, const X* x, const float* b, const Y* y, float* out,
                       void* stream) {
  for_rows(rows, stream, [=] SKIPLESS_WORK(const OfRow& lanes, int64_t i) {
    gained_sum_row(lanes, width, a, offset(x, i * width), b, y + i * width, out + i * width);
  });
}

template <class X, class Y>
void launch_gained_sum_backward(int64_t rows, int64_t width, const float* a, const X* x, const float* b, const Y* y,
                                const float* grad_out, X* grad_x, Y* grad_y, float* grad_a, float* grad_b,
                                void* stream) {
  for_rows(rows, stream, [=] SKIPLESS_WORK(const OfRow& lanes, int64_t i) {
    const int64_t at = i * width;
    gained_sum_backward_row(lanes, width, a, offset(x, at), b, y + at, grad_out + at, offset(grad_x, at), grad_y + at,
                            offset(grad_a, i), grad_b + i);
  });
}

}  // namespace

void gained_sum_forward(int64_t rows, int64_t width, const float* a, const Rows& x, const float* b, const Rows& y,
                        float* out, void* stream) {
  visit_pairs(
      x, y, [&](const auto* of_x, const auto* of_y) { launch_gained_sum(rows, width, a, of_x, b, of_y, out, stream); });
}

void gained_sum_backward(int64_t rows, int64_t width, const float* a, const Rows& x, const float* b, const Rows& y,
                         const float* grad_out, const Rows& grad_x, const Rows& grad_y, float* grad_a, float* grad_b,
                         void* stream) {
  visit_pairs(x, y, [&](auto* of_x, auto* of_y) {
    launch_gained_sum_backward(rows, width, a, of_x, b, of_y, grad_out, static_cast<decltype(of_x)>(grad_x.data),
                               static_cast<decltype(of_y)>(grad_y.data), grad_a, grad_b, stream);
  });
}

}  // namespace skipless::kernels::SKIPLESS_PLACE
