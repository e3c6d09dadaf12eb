#include "train/adamw.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "train/module_state.h"

namespace skipless {

std::span<const EnumName<OptimizerKind>> enum_names(OptimizerKind) {
  static constexpr std::array<EnumName<OptimizerKind>, 2> kNames{
      {{OptimizerKind::adamw, "adamw"}, {OptimizerKind::adamw_hf, "adamw_hf"}}};
  return kNames;
}

void OptimizerConfig::keys(Schema& s) {
  s.key("optimizer", optimizer, "adamw: LibTorch's fused AdamW; adamw_hf: the rule of transformers up to 4.30");
  s.key("beta1", beta1, Range<double>::from_below(0, 1), "decay of the running mean of the gradient");
  s.key("beta2", beta2, Range<double>::from_below(0, 1), "decay of the running mean of its square");
  s.key("eps", eps, Range<double>::between(0, 1), "added to the root of the second moment");
  s.key("weight_decay", weight_decay, Range<double>::between(0, 1000),
        "of matrices and embeddings, never of gains, norms and biases");
}

AdamW::AdamW(std::vector<ParameterGroup> groups, const OptimizerConfig& config)
    : config_(config), groups_(std::move(groups)) {
  for (const auto& group : groups_) {
    auto& moments = moments_.emplace_back();
    for (const auto& parameter : group.parameters) {
      const auto device = config.optimizer == OptimizerKind::adamw ? parameter.tensor.device() : at::Device(at::kCPU);
      moments.push_back({.mean = at::zeros_like(parameter.tensor),
                         .square = at::zeros_like(parameter.tensor),
                         .step = at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(device))});
    }
  }
}

void AdamW::step(double lr, const at::Tensor& skip) {
  RECORD_USER_SCOPE("optimizer");
  const c10::NoGradGuard no_grad;
  if (config_.optimizer == OptimizerKind::adamw_hf && skip.defined() && skip.item<float>() == 1) return;
  for (size_t group = 0; group < groups_.size(); ++group) {
    if (config_.optimizer == OptimizerKind::adamw) {
      fused_step(group, lr, skip);
    } else {
      hugging_face_step(group, lr);
    }
  }
}

void AdamW::fused_step(size_t group, double lr, const at::Tensor& skip) {
  std::vector<at::Tensor> parameters, gradients, means, squares, steps;
  for (size_t i = 0; i < moments_[group].size(); ++i) {
    const auto& parameter = groups_[group].parameters[i].tensor;
    if (!parameter.grad().defined()) continue;
    parameters.push_back(parameter);
    gradients.push_back(parameter.grad());
    means.push_back(moments_[group][i].mean);
    squares.push_back(moments_[group][i].square);
    steps.push_back(moments_[group][i].step);
  }
  if (parameters.empty()) return;
  at::_foreach_add_(steps, 1);
  at::_fused_adamw_(parameters, gradients, means, squares, /*max_exp_avg_sqs=*/{}, steps, lr, config_.beta1,
                    config_.beta2, groups_[group].weight_decay, config_.eps, /*amsgrad=*/false, /*maximize=*/false,
                    /*grad_scale=*/{}, skip.defined() ? std::optional(skip) : std::nullopt);
  // The kernel leaves parameters and moments alone where `skip` is 1; the count is ours to take back.
  if (skip.defined()) at::_foreach_sub_(steps, std::vector<at::Tensor>(steps.size(), skip));
}

void AdamW::hugging_face_step(size_t group, double lr) {
  for (size_t i = 0; i < moments_[group].size(); ++i) {
    auto parameter = groups_[group].parameters[i].tensor;
    const auto& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    auto& [mean, square, step] = moments_[group][i];
    const double t = step.add_(1).item<float>();
    mean.mul_(config_.beta1).add_(gradient, 1 - config_.beta1);
    square.mul_(config_.beta2).addcmul_(gradient, gradient, 1 - config_.beta2);
    const double correction = std::sqrt(1 - std::pow(config_.beta2, t)) / (1 - std::pow(config_.beta1, t));
    parameter.addcdiv_(mean, square.sqrt().add_(config_.eps), -lr * correction);
    parameter.add_(parameter, -lr * groups_[group].weight_decay);
  }
}

std::map<std::string, at::Tensor> AdamW::state() const {
  std::map<std::string, at::Tensor> state;
  for (size_t group = 0; group < groups_.size(); ++group) {
    for (size_t i = 0; i < moments_[group].size(); ++i) {
      const std::string& name = groups_[group].parameters[i].name;
      state.emplace(name + ".exp_avg", moments_[group][i].mean);
      state.emplace(name + ".exp_avg_sq", moments_[group][i].square);
      state.emplace(name + ".step", moments_[group][i].step);
    }
  }
  return state;
}

void AdamW::load(const std::map<std::string, at::Tensor>& saved, const std::string& source) {
  const auto own = state();
  require_same_tensors(own, saved, source, fmt::format("optimizer ({})", name_of(config_.optimizer)));
  const c10::NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) at::Tensor(tensor).copy_(saved.at(name));
}

}  // namespace skipless
