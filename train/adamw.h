// AdamW, by LibTorch's fused kernel or by Hugging Face's rule.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "configs/schema.h"
#include "train/parameter_groups.h"

namespace skipless {

enum class OptimizerKind { adamw, adamw_hf };
std::span<const EnumName<OptimizerKind>> enum_names(OptimizerKind);

struct OptimizerConfig {
  OptimizerKind optimizer = OptimizerKind::adamw;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.1;  // of the decayed group (parameter_groups.h)

  void keys(Schema& s);
};

/// With m = beta1*m + (1 - beta1)*g, v = beta2*v + (1 - beta2)*g*g, c1 = 1 - beta1^t, c2 = 1 - beta2^t at update t
/// = 1..:
///   adamw:    p -= lr*wd*p;  p -= lr * (m/c1) / (sqrt(v/c2) + eps)
///   adamw_hf: p -= lr*sqrt(c2)/c1 * m / (sqrt(v) + eps);  p -= lr*wd*p
/// the second being the `AdamW` of transformers up to 4.30, which the paper used: eps is added before the correction of
/// the bias, and decay comes after the step.
/// A parameter without a gradient is left alone, decay included, and its t does not advance.
class AdamW {
 public:
  AdamW(std::vector<ParameterGroup> groups, const OptimizerConfig& config);

  /// `skip`: a scalar of the parameters' device; where it is 1, nothing at all changes. Undefined: 0. adamw reads it on
  /// the device; adamw_hf, which exists for comparisons, reads it on the host.
  void step(double lr, const at::Tensor& skip = {});

  const std::vector<ParameterGroup>& groups() const { return groups_; }
  /// "<parameter>.exp_avg", ".exp_avg_sq" and ".step" of every parameter. The tensors are the optimizer's own.
  std::map<std::string, at::Tensor> state() const;
  /// Copies values into state(). UserError naming the first tensor that differs (module_state.h).
  void load(const std::map<std::string, at::Tensor>& saved, const std::string& source);

 private:
  struct Moments {
    at::Tensor mean;    // m
    at::Tensor square;  // v
    at::Tensor step;    // t, float32 scalar: where the rule needs it, beside the parameter or on the CPU
  };

  void fused_step(size_t group, double lr, const at::Tensor& skip);
  void hugging_face_step(size_t group, double lr);

  OptimizerConfig config_;
  std::vector<ParameterGroup> groups_;
  std::vector<std::vector<Moments>> moments_;  // as groups_
};

}  // namespace skipless
