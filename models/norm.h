// The normalisations of a block's inputs and of the final hidden state.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <span>

#include "configs/schema.h"

namespace skipless {

enum class NormKind { rms_norm, layer_norm, none };
std::span<const EnumName<NormKind>> enum_names(NormKind);

/// [.., d] -> [.., d]. Under autocast statistics and result are float32.
class NormImpl : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& x) = 0;
  /// The same for matrix products alone: under autocast already rounded to its type, where the fused form makes it
  /// (fused_norm.h), on a CPU to bfloat16 alone.
  virtual torch::Tensor operand(const torch::Tensor& x) = 0;
};
using Norm = std::shared_ptr<NormImpl>;

/// y = scale * x / (||x||_2 / sqrt(d) + eps): eps is added OUTSIDE the root, as in the authors' code (PAPER.md, section
/// 1).
class RmsNormImpl : public NormImpl {
 public:
  RmsNormImpl(int64_t d, double eps);
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor operand(const torch::Tensor& x) override;
  /// The formula as it is written: the reference of the fused one.
  torch::Tensor plain(const torch::Tensor& x) const;

 private:
  torch::Tensor scale_;  // [d], 1 at the start
  double eps_;
};

/// y = weight * (x - mean) / sqrt(var + eps) + bias
class LayerNormImpl : public NormImpl {
 public:
  LayerNormImpl(int64_t d, double eps);
  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor operand(const torch::Tensor& x) override;

 private:
  torch::Tensor weight_;  // [d], 1 at the start
  torch::Tensor bias_;    // [d], 0 at the start
  double eps_;
};

/// y = x
class NoNormImpl : public NormImpl {
 public:
  torch::Tensor forward(const torch::Tensor& x) override { return x; }
  torch::Tensor operand(const torch::Tensor& x) override { return x; }
};

int64_t n_norm_parameters(NormKind kind, int64_t d);
Norm make_norm(NormKind kind, int64_t d, double eps);

}  // namespace skipless
