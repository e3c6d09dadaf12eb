// The value and output projections: the identity, a plain matrix, or alpha*W_init + beta*W (the paper's Eq. 6).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <span>
#include <string_view>

#include "configs/schema.h"
#include "models/gain.h"
#include "models/weight_init.h"

namespace skipless {

enum class ProjectionKind { same, identity, plain, gained };
std::span<const EnumName<ProjectionKind>> enum_names(ProjectionKind);

/// How one of the two projections of attention is made.
struct ProjectionConfig {
  /// `same` is for the exceptions of the first and the last layer alone: no exception.
  ProjectionKind kind = ProjectionKind::plain;
  /// Start of a plain matrix (normal: std `init_std`), or the fixed W_init of a gained one (normal: N(0, 1/d)).
  InitConfig init{};
  GainConfig alpha{};  // on W_init; default 1
  GainConfig beta{};   // on W, which starts at 0; default 1

  void keys(Schema& s);
  void resolve(bool gains_trainable);
  /// `section`: its key, for messages. `exception`: whether `same` is allowed.
  void check(Problems& problems, std::string_view section, bool exception) const;
};

/// y = x (alpha*W_init + beta*W)^T + bias. Shapes: x [.., d], W and W_init [d, d] as [out, in], bias [d] or none.
/// kind identity: y = x (+ bias), and no parameter. kind plain: W alone. W_init is a buffer, and is saved with the
/// model.
class GainedLinearImpl : public torch::nn::Module {
 public:
  /// `init_scale` multiplies the start of a plain matrix, or W_init.
  GainedLinearImpl(const ProjectionConfig& config, int64_t d, bool bias, double init_std, double init_scale = 1);

  torch::Tensor forward(const torch::Tensor& x);
  /// The matrix in force, [out, in]. Only for a kind that has one.
  torch::Tensor matrix() const;
  bool has_matrix() const { return weight_.defined(); }
  /// The fixed matrix of a gained projection, which tying sets before training.
  torch::Tensor& w_init() { return w_init_; }

 private:
  ProjectionKind kind_;
  Gain alpha_{nullptr};
  Gain beta_{nullptr};
  torch::Tensor w_init_;  // [d, d]; kind gained
  torch::Tensor weight_;  // [d, d]; kinds plain and gained
  torch::Tensor bias_;    // [d] or undefined
};
TORCH_MODULE(GainedLinear);

}  // namespace skipless
