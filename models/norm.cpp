#include "models/norm.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <array>
#include <cmath>

#include "models/full_precision.h"
#include "models/fused_norm.h"
#include "models/kernel_rows.h"

namespace skipless {

std::span<const EnumName<NormKind>> enum_names(NormKind) {
  static constexpr std::array<EnumName<NormKind>, 3> kNames{
      {{NormKind::rms_norm, "rms_norm"}, {NormKind::layer_norm, "layer_norm"}, {NormKind::none, "none"}}};
  return kNames;
}

RmsNormImpl::RmsNormImpl(int64_t d, double eps) : scale_(register_parameter("scale", torch::ones({d}))), eps_(eps) {}

namespace {

/// Of a fused norm of x: autocast's, if it has one that the kernels write; else float32.
at::ScalarType operand_type(const torch::Tensor& x) {
  const auto device = x.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return at::kFloat;
  const auto type = at::autocast::get_autocast_dtype(device);
  return type == at::kBFloat16 || (type == at::kHalf && has_device_element(x)) ? type : at::kFloat;
}

bool can_fuse(const torch::Tensor& x, const torch::Tensor& scale) {
  return has_fused_form(x) && scale.scalar_type() == at::kFloat;
}

}  // namespace

torch::Tensor RmsNormImpl::forward(const torch::Tensor& x) {
  if (!can_fuse(x, scale_)) return plain(x);
  return fused_norm({.eps = eps_, .is_layer_norm = false, .result = at::kFloat}, x, scale_, {});
}

torch::Tensor RmsNormImpl::operand(const torch::Tensor& x) {
  if (!can_fuse(x, scale_)) return plain(x);
  return fused_norm({.eps = eps_, .is_layer_norm = false, .result = operand_type(x)}, x, scale_, {});
}

torch::Tensor RmsNormImpl::plain(const torch::Tensor& input) const {
  const auto x = full_precision(input);
  const auto norm = at::linalg_vector_norm(x, 2, at::IntArrayRef{-1}, /*keepdim=*/true);
  return scale_ * (x / (norm / std::sqrt(static_cast<double>(x.size(-1))) + eps_));
}

LayerNormImpl::LayerNormImpl(int64_t d, double eps)
    : weight_(register_parameter("weight", torch::ones({d}))),
      bias_(register_parameter("bias", torch::zeros({d}))),
      eps_(eps) {}

torch::Tensor LayerNormImpl::forward(const torch::Tensor& x) {
  return at::layer_norm(full_precision(x), {x.size(-1)}, weight_, bias_, eps_);
}

torch::Tensor LayerNormImpl::operand(const torch::Tensor& x) {
  if (!can_fuse(x, weight_)) return forward(x);
  return fused_norm({.eps = eps_, .is_layer_norm = true, .result = operand_type(x)}, x, weight_, bias_);
}

int64_t n_norm_parameters(NormKind kind, int64_t d) {
  switch (kind) {
    case NormKind::rms_norm:
      return d;
    case NormKind::layer_norm:
      return 2 * d;
    case NormKind::none:
      return 0;
  }
  TORCH_CHECK(false, "a norm kind outside the enum");
}

Norm make_norm(NormKind kind, int64_t d, double eps) {
  switch (kind) {
    case NormKind::rms_norm:
      return std::make_shared<RmsNormImpl>(d, eps);
    case NormKind::layer_norm:
      return std::make_shared<LayerNormImpl>(d, eps);
    case NormKind::none:
      return std::make_shared<NoNormImpl>();
  }
  TORCH_CHECK(false, "a norm kind outside the enum");
}

}  // namespace skipless
