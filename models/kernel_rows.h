// Tensors as the rows that kernels work on.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/kernels/presence.h"
#include "models/kernels/rows.h"

namespace skipless {

/// Whether kernels can read x: on a CPU, float32 or bfloat16.
inline bool has_kernel_element(const at::Tensor& x) {
  return x.is_cpu() && kernels::are_present() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

/// `first`: of the row that the kernel calls row 0.
inline kernels::Rows kernel_rows(const at::Tensor& x, int64_t first, int64_t stride) {
  auto* const data = static_cast<char*>(x.mutable_data_ptr()) + first * static_cast<int64_t>(x.element_size());
  return {.data = data,
          .element = x.scalar_type() == at::kFloat ? kernels::Element::float32 : kernels::Element::bfloat16,
          .stride = stride};
}

/// The rows of the last dimension of a contiguous tensor; none where it is undefined.
inline kernels::Rows kernel_rows(const at::Tensor& x) {
  if (!x.defined()) return {.data = nullptr, .element = kernels::Element::float32, .stride = 0};
  return kernel_rows(x, 0, x.size(-1));
}

/// Rows that a thread should have at least, so that starting it pays.
inline int64_t rows_per_thread(int64_t width) {
  constexpr int64_t kValues = 1 << 14;
  return 1 + kValues / (width + 1);
}

}  // namespace skipless
