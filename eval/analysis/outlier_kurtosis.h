// Outlier features: channels whose activations are far larger than those of the others.
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// x [.., D], n tokens -> a number: mean_j s_j^4 / (mean_j s_j^2)^2, where s_j^2 = (1/n) sum_i x_ij^2 is the mean
/// square of channel j. 1 where all channels are as large, D where one alone is not zero. (He et al., "Understanding
/// and Minimising Outlier Features in Neural Network Training", 2024, Section 2, "Kurtosis".)
at::Tensor outlier_kurtosis(const at::Tensor& x);

}  // namespace skipless
