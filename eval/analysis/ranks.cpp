#include "eval/analysis/ranks.h"

#include <ATen/ops/special_entr.h>

namespace skipless {

at::Tensor stable_rank(const at::Tensor& s) {
  // Scaled first: the square of what a product of many matrices leaves may be no float64.
  return (s / s.amax(-1, /*keepdim=*/true)).square().sum(-1);
}

at::Tensor effective_rank(const at::Tensor& s) {
  return at::special_entr(s / s.sum(-1, /*keepdim=*/true)).sum(-1).exp();
}

}  // namespace skipless
