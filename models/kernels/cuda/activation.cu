#include "models/kernels/cuda/launch.cuh"

namespace skipless::kernels::SKIPLESS_PLACE {

namespace {

SKIPLESS_DEVICE int64_t input_width(const ActivationShape& shape) {
  return shape.kind == ActivationKind::geglu ? 2 * shape.width : shape.width;
}

template <class T>
void launch_activation(const ActivationShape& shape, int64_t rows, const T* x, T* y, void* stream) {
  for_rows(rows, stream, [=] SKIPLESS_WORK(const OfRow& lanes, int64_t i) {
    activation_row(lanes, shape, x + i * input_width(shape), y + i * shape.width);
  });
}

template <class T>
void launch_activation_backward(const ActivationShape& shape, int64_t rows, const T* x, const T* grad_y, T* grad_x,
                                void* stream) {
  for_rows(rows, stream, [=] SKIPLESS_WORK(const OfRow& lanes, int64_t i) {
    const int64_t at = i * input_width(shape);
    activation_backward_row(lanes, shape, x + at, grad_y + i * shape.width, grad_x + at);
  });
}

}  // namespace

void activation_forward(const ActivationShape& shape, int64_t rows, const Rows& x, const Rows& y, void* stream) {
  visit_values(x,
               [&](auto* of_x) { launch_activation(shape, rows, of_x, static_cast<decltype(of_x)>(y.data), stream); });
}

void activation_backward(const ActivationShape& shape, int64_t rows, const Rows& x, const Rows& grad_y,
                         const Rows& grad_x, void* stream) {
  visit_values(x, [&](auto* of_x) {
    using T = decltype(of_x);
    launch_activation_backward(shape, rows, of_x, static_cast<T>(grad_y.data), static_cast<T>(grad_x.data), stream);
  });
}

}  // namespace skipless::kernels::SKIPLESS_PLACE
