#include "train/clip.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

namespace skipless {

at::Tensor scale_and_clip(const std::vector<at::Tensor>& gradients, const at::Tensor& scale, double max_norm) {
  const c10::NoGradGuard no_grad;
  if (gradients.empty()) return at::zeros({}, scale.options());
  constexpr double kAgainstZero = 1e-6;  // as in torch.nn.utils.clip_grad_norm_
  const auto norms = at::stack(at::_foreach_norm(gradients, 2));
  const auto norm = at::linalg_vector_norm(norms) * scale.abs();
  auto factor = scale;
  if (max_norm > 0) factor = factor * (max_norm / (norm + kAgainstZero)).clamp_max(1);
  at::_foreach_mul_(gradients, factor.to(gradients.front().scalar_type()));
  return norm;
}

}  // namespace skipless
