// Tensors as the rows that kernels work on.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/device_kernels.h"
#include "models/kernels/presence.h"
#include "models/kernels/rows.h"

namespace skipless {

/// Whether the kernels of a CPU can read x: there, float32 or bfloat16.
inline bool has_kernel_element(const at::Tensor& x) {
  return x.is_cpu() && kernels::are_present() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

/// Whether those of its own device shall work on x.
inline bool has_fused_form(const at::Tensor& x) {
  return has_kernel_element(x) || has_device_element(x);
}

inline kernels::Element element_of(const at::Tensor& x) {
  switch (x.scalar_type()) {
    case at::kFloat:
      return kernels::Element::float32;
    case at::kBFloat16:
      return kernels::Element::bfloat16;
    case at::kHalf:
      return kernels::Element::float16;
    default:
      TORCH_CHECK(false, "no kernel reads ", x.scalar_type());
  }
}

/// `first`: of the row that the kernel calls row 0.
inline kernels::Rows kernel_rows(const at::Tensor& x, int64_t first, int64_t stride) {
  auto* const data = static_cast<char*>(x.mutable_data_ptr()) + first * static_cast<int64_t>(x.element_size());
  return {.data = data, .element = element_of(x), .stride = stride};
}

/// The rows of the last dimension of a contiguous tensor; none where it is undefined.
inline kernels::Rows kernel_rows(const at::Tensor& x) {
  if (!x.defined()) return {.data = nullptr, .element = kernels::Element::float32, .stride = 0};
  return kernel_rows(x, 0, x.size(-1));
}

/// Where float32 values begin; null where there are none.
inline float* float_data(const at::Tensor& x) {
  return x.defined() ? x.mutable_data_ptr<float>() : nullptr;
}

/// Rows that a thread should have at least, so that starting it pays.
inline int64_t rows_per_thread(int64_t width) {
  constexpr int64_t kValues = 1 << 14;
  return 1 + kValues / (width + 1);
}

}  // namespace skipless
