#include "models/gained_linear.h"

#include <ATen/ops/linear.h>

#include <array>
#include <cmath>
#include <string>

namespace skipless {

std::span<const EnumName<ProjectionKind>> enum_names(ProjectionKind) {
  static constexpr std::array<EnumName<ProjectionKind>, 4> kNames{{{ProjectionKind::same, "same"},
                                                                   {ProjectionKind::identity, "identity"},
                                                                   {ProjectionKind::plain, "plain"},
                                                                   {ProjectionKind::gained, "gained"}}};
  return kNames;
}

void ProjectionConfig::keys(Schema& s) {
  s.key("kind", kind, "identity (no matrix), plain (W) or gained (alpha*W_init + beta*W); same: no exception");
  s.section("init", init, "start of a plain matrix, or the fixed W_init of a gained one");
  const bool gained = kind == ProjectionKind::gained;
  s.section("alpha", alpha, "gain on W_init", gained);
  s.section("beta", beta, "gain on W", gained);
}

void ProjectionConfig::resolve(bool gains_trainable) {
  const bool trainable = gains_trainable && kind == ProjectionKind::gained;
  alpha.resolve(1, trainable);
  beta.resolve(1, trainable);
}

void ProjectionConfig::check(Problems& problems, std::string_view section, bool exception) const {
  problems.within(section, [&](Problems& p) {
    init.check(p, "init");
    if (kind == ProjectionKind::same && !exception) {
      p.add("kind", "'same' is for first_layer_value and last_layer_projection; here: identity, plain or gained");
    }
    if (kind == ProjectionKind::gained) return;
    for (const auto& [name, gain] : {std::pair{"alpha", &alpha}, std::pair{"beta", &beta}}) {
      if (*gain->trainable || *gain->init != 1) {
        p.add(name, std::string("a gain with no matrix to scale: only 'kind: gained' has one, and this kind is '") +
                        std::string(name_of(kind)) + "'");
      }
    }
  });
}

GainedLinearImpl::GainedLinearImpl(const ProjectionConfig& config, int64_t d, bool bias, double init_std,
                                   double init_scale)
    : kind_(config.kind) {
  TORCH_CHECK(kind_ != ProjectionKind::same, "an exception must be resolved before it is built");
  if (kind_ == ProjectionKind::plain) {
    weight_ = register_parameter("weight", initial_matrix(config.init, d, d, init_std, init_scale));
  } else if (kind_ == ProjectionKind::gained) {
    alpha_ = register_module("alpha", Gain(config.alpha));
    beta_ = register_module("beta", Gain(config.beta));
    w_init_ =
        register_buffer("w_init", initial_matrix(config.init, d, d, 1 / std::sqrt(static_cast<double>(d)), init_scale));
    weight_ = register_parameter("weight", torch::zeros({d, d}));
  }
  if (bias) bias_ = register_parameter("bias", torch::zeros({d}));
}

torch::Tensor GainedLinearImpl::matrix() const {
  TORCH_CHECK(weight_.defined(), "an identity projection has no matrix");
  return kind_ == ProjectionKind::plain ? weight_ : alpha_->forward(w_init_) + beta_->forward(weight_);
}

torch::Tensor GainedLinearImpl::forward(const torch::Tensor& x) {
  if (kind_ == ProjectionKind::identity) return bias_.defined() ? x + bias_ : x;
  return at::linear(x, matrix(), bias_);
}

}  // namespace skipless
