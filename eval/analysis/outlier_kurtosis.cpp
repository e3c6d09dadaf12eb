#include "eval/analysis/outlier_kurtosis.h"

namespace skipless {

at::Tensor outlier_kurtosis(const at::Tensor& x) {
  const auto mean_squares = x.flatten(0, -2).square().mean(0);  // [D]
  return mean_squares.square().mean() / mean_squares.mean().square();
}

}  // namespace skipless
