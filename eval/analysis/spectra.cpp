#include "eval/analysis/spectra.h"

#include <ATen/ops/linalg_eigvals.h>
#include <ATen/ops/linalg_svdvals.h>

namespace skipless {

at::Tensor singular_values(const at::Tensor& m) {
  return at::linalg_svdvals(m.to(at::kDouble));
}

at::Tensor eigenvalues(const at::Tensor& m) {
  const auto values = at::linalg_eigvals(m.to(at::kDouble));
  return values.gather(-1, values.abs().argsort(/*dim=*/-1, /*descending=*/true));
}

}  // namespace skipless
