// How alike the tokens of a sequence are: 1, at rank collapse, where all point the same way.
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// x [.., T, D] -> [..]: the mean of cos(x_i, x_j) = x_i.x_j / (|x_i| |x_j|) over i != j. NaN with a token of zeros.
/// (Noci et al., "Signal Propagation in Transformers", 2022; the rank collapse of Dong et al., 2021.)
at::Tensor token_similarity(const at::Tensor& x);

/// x [.., T, D] -> [..]: the mean of x_i.x_j / D over i != j, the entries of the kernel X X^T / D off its diagonal,
/// whose diagonal has the mean rms^2. (He et al., "Deep Transformers without Shortcuts", 2023.)
at::Tensor token_covariance(const at::Tensor& x);

}  // namespace skipless
