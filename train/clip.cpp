#include "train/clip.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

namespace skipless {

namespace {

/// sqrt(sum g^2) of each. On the CPU LibTorch adds a whole tensor up in one float32 sum, which is off by a percent at
/// 40 million values; row by row the sums stay short.
std::vector<at::Tensor> norms_of(const std::vector<at::Tensor>& gradients) {
  if (!gradients.front().is_cpu()) return at::_foreach_norm(gradients, 2);
  std::vector<at::Tensor> norms;
  for (const auto& gradient : gradients) {
    norms.push_back(at::linalg_vector_norm(
        gradient.dim() < 2 ? gradient : at::linalg_vector_norm(gradient, 2, at::IntArrayRef{-1})));
  }
  return norms;
}

}  // namespace

at::Tensor scale_and_clip(const std::vector<at::Tensor>& gradients, const at::Tensor& scale, double max_norm) {
  RECORD_USER_SCOPE("clip");
  const c10::NoGradGuard no_grad;
  if (gradients.empty()) return at::zeros({}, scale.options());
  const auto norm = at::linalg_vector_norm(at::stack(norms_of(gradients))) * scale.abs();
  auto factor = scale;
  if (max_norm > 0) factor = factor * clip_factor(norm, max_norm);
  at::_foreach_mul_(gradients, factor.to(gradients.front().scalar_type()));
  return norm;
}

at::Tensor clip_factor(const at::Tensor& norm, double max_norm) {
  constexpr double kAgainstZero = 1e-6;  // as in torch.nn.utils.clip_grad_norm_
  return max_norm > 0 ? (max_norm / (norm + kAgainstZero)).clamp_max(1) : at::ones_like(norm);
}

}  // namespace skipless
