#include "train/loss_scaler.h"

#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <string_view>

#include "train/module_state.h"

namespace skipless {

namespace {

constexpr std::string_view kPrefix = "loss_scale.";

}  // namespace

LossScaler::LossScaler(at::Device device)
    : scale_(at::full({}, kStart, at::TensorOptions().dtype(at::kFloat).device(device))),
      good_steps_(at::zeros({}, scale_.options().dtype(at::kInt))),
      skips_in_a_row_(at::zeros({}, scale_.options().dtype(at::kLong))),
      skipped_(at::zeros({}, scale_.options().dtype(at::kLong))) {}

void LossScaler::update(const at::Tensor& is_bad) {
  const c10::NoGradGuard no_grad;
  at::_amp_update_scale_(scale_, good_steps_, is_bad.to(at::kFloat), kGrowth, kBackoff, kGrowthInterval);
  skipped_.add_(is_bad);
  skips_in_a_row_.add_(1).mul_(is_bad);
}

at::Tensor LossScaler::collapsed() const {
  return scale_.lt(kLeastScale).logical_or(skips_in_a_row_.ge(kMostSkipsInARow));
}

std::map<std::string, at::Tensor> LossScaler::state() const {
  std::map<std::string, at::Tensor> state;
  const auto add = [&](const char* name, const at::Tensor& tensor) {
    state.emplace(std::string(kPrefix) + name, tensor);
  };
  add("scale", scale_);
  add("good_steps", good_steps_);
  add("skips_in_a_row", skips_in_a_row_);
  add("skipped", skipped_);
  return state;
}

void LossScaler::load(const std::map<std::string, at::Tensor>& saved, const std::string& source) {
  const auto own = state();
  require_same_tensors(own, saved, source, "loss scaler");
  const c10::NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) at::Tensor(tensor).copy_(saved.at(name));
}

std::map<std::string, at::Tensor> extract_loss_scale(std::map<std::string, at::Tensor>& tensors) {
  std::map<std::string, at::Tensor> state;
  for (auto at = tensors.begin(); at != tensors.end();) {
    const auto next = std::next(at);
    if (at->first.starts_with(kPrefix)) state.insert(tensors.extract(at));
    at = next;
  }
  return state;
}

}  // namespace skipless
