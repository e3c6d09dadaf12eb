#include "eval/analysis/distance.h"

#include <ATen/ops/linalg_vector_norm.h>

namespace skipless {

at::Tensor relative_distance(const at::Tensor& m, const at::Tensor& start) {
  return at::linalg_vector_norm(m - start, 2, at::IntArrayRef{-2, -1}) / at::linalg_vector_norm(start);
}

}  // namespace skipless
