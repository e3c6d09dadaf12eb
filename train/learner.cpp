#include "train/learner.h"

#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "models/fp32_products.h"
#include "models/make_model.h"
#include "train/accumulation.h"
#include "train/autocast.h"
#include "train/clip.h"
#include "train/device.h"
#include "train/non_finite.h"

namespace skipless {

namespace {

Transformer build_model(const RunConfig& config, at::Device device) {
  seed_generators(device, config.train.seed);
  auto model = make_model(config.model);
  model->to(device);
  return model;
}

at::Device device_of(const torch::nn::Module& model) {
  return model.parameters().front().device();
}

}  // namespace

Learner::Learner(const RunConfig& config, at::Device device, Precision precision)
    : Learner(build_model(config, device), config.train, precision) {}

Learner::Learner(Transformer model, const TrainConfig& config, Precision precision)
    : config_(config),
      precision_(precision),
      model_(std::move(model)),
      optimizer_(parameter_groups(*model_, config.optimizer.weight_decay), config.optimizer),
      failed_step_(at::full({}, -1, at::TensorOptions().dtype(at::kLong).device(device_of(*model_)))) {
  set_fp32_products(best_fp32_products());
  model_->train();
  model_->set_recompute(config_.recompute);
  for (const auto& group : optimizer_.groups()) {
    for (const auto& parameter : group.parameters) parameters_.push_back(parameter.tensor);
  }
  if (precision == Precision::fp16) scaler_.emplace(failed_step_.device());
}

at::Tensor Learner::loss_factor(const Batch& batch) const {
  if (!scaler_) return {};
  // The scale is that of the loss per token, as in the field: the sum of many tokens would leave the range of float16.
  const auto& predicted = batch.labels.defined() ? batch.labels : batch.ids;
  return scaler_->scale() / static_cast<double>(std::max<int64_t>(1, predicted.numel()));
}

std::string Learner::first_non_finite(const Batch& batch) {
  return skipless::first_non_finite(*model_, batch, *config_.micro_batch, precision_, loss_factor(batch));
}

Learner::Step Learner::step(int64_t index, double lr, const Batch& batch) {
  const auto micro_batches = batch.split(*config_.micro_batch);
  model_->begin_step(index);
  const auto loss_of = [&](int64_t i) {
    RECORD_USER_SCOPE("forward");
    const Autocast autocast(batch.ids.device().type(), precision_);
    return model_->loss(micro_batches[static_cast<size_t>(i)]);
  };
  const auto factor = loss_factor(batch);
  TokenLoss loss = accumulate_gradients(parameters_, static_cast<int64_t>(micro_batches.size()), loss_of, factor);
  const c10::NoGradGuard no_grad;
  auto scale = loss.count.clamp_min(1).to(loss.sum.scalar_type()).reciprocal();
  // Unscaled before it is clipped.
  if (scaler_) scale = scale / factor;
  const auto norm = scale_and_clip(gradients_of(parameters_), scale, config_.clip_norm);
  const auto is_bad = at::isfinite(norm).logical_and(at::isfinite(loss.sum)).logical_not();
  // A collapsed scale stays what it was when it collapsed.
  if (scaler_) scaler_->update(is_bad.logical_and(failed_step_.lt(0)));
  const auto has_failed = scaler_ ? scaler_->collapsed() : is_bad;
  // Not where(): that copies its number to the device, for which the host waits.
  failed_step_ = failed_step_.masked_fill(failed_step_.lt(0).logical_and(has_failed), index);
  const auto skip = failed_step_.ge(0).logical_or(is_bad).logical_or(loss.count.eq(0)).to(at::kFloat);
  optimizer_.step(lr, skip);
  model_->end_step(skip);
  if (scaler_) {
    const auto counts = at::isfinite(loss.sum);
    loss = {.sum = loss.sum.masked_fill(counts.logical_not(), 0), .count = loss.count * counts};
  }
  return {.loss = loss, .gradient_norm = norm};
}

}  // namespace skipless
