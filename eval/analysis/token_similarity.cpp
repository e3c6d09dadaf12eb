#include "eval/analysis/token_similarity.h"

#include <ATen/ops/linalg_vector_norm.h>

namespace skipless {

namespace {

/// The mean of x_i.x_j over i != j, as (|sum_i x_i|^2 - sum_i |x_i|^2) / (T (T - 1)).
at::Tensor mean_product(const at::Tensor& x) {
  const auto t = static_cast<double>(x.size(-2));
  const auto of_sum = x.sum(-2).square().sum(-1);
  return (of_sum - x.square().sum(-1).sum(-1)) / (t * (t - 1));
}

}  // namespace

at::Tensor token_similarity(const at::Tensor& x) {
  return mean_product(x / at::linalg_vector_norm(x, 2, at::IntArrayRef{-1}, /*keepdim=*/true));
}

at::Tensor token_covariance(const at::Tensor& x) {
  return mean_product(x) / static_cast<double>(x.size(-1));
}

}  // namespace skipless
