// How spread the rows of an attention matrix are.
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// a [.., T, S], rows that sum to 1 -> [.., T]: -sum_j a_ij ln a_ij in nats, 0 ln 0 = 0.
at::Tensor row_entropy(const at::Tensor& a);

/// entropy [.., T] of rows that see `visible` [T] keys -> [..]: the mean of entropy_i / ln(visible_i), which is 1 for
/// equal weights, over the rows that see more than one key. NaN where none does.
at::Tensor entropy_share(const at::Tensor& entropy, const at::Tensor& visible);

}  // namespace skipless
