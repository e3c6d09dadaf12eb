// What must not be computed in half precision under autocast: gains, norms, softmax, sums over positions.
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// x in float32 if it is in half precision, else x itself (float64 stays what it is).
inline at::Tensor full_precision(const at::Tensor& x) {
  return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

}  // namespace skipless
