// Eigenvalues and singular values, by LibTorch's LAPACK, in float64.
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// m [.., R, C] -> [.., min(R, C)], the largest first: s with m = U diag(s) V^T.
at::Tensor singular_values(const at::Tensor& m);

/// m [.., N, N] -> [.., N] complex, the largest modulus first; those of equal modulus in any order.
at::Tensor eigenvalues(const at::Tensor& m);

}  // namespace skipless
