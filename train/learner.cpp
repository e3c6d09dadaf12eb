#include "train/learner.h"

#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <c10/core/GradMode.h>

#include "train/accumulation.h"
#include "train/clip.h"
#include "train/device.h"

namespace skipless {

namespace {

Gpt build_model(const RunConfig& config, at::Device device) {
  seed_generators(device, config.train.seed);
  Gpt model(config.model);
  model->to(device);
  model->train();
  return model;
}

}  // namespace

Learner::Learner(const RunConfig& config, at::Device device)
    : config_(config.train),
      model_(build_model(config, device)),
      optimizer_(parameter_groups(*model_, config.train.optimizer.weight_decay), config.train.optimizer),
      failed_step_(at::full({}, -1, at::TensorOptions().dtype(at::kLong).device(device))) {
  model_->set_recompute(config_.recompute);
  for (const auto& group : optimizer_.groups()) {
    for (const auto& parameter : group.parameters) parameters_.push_back(parameter.tensor);
  }
}

Learner::Step Learner::step(int64_t index, double lr, const at::Tensor& ids, const at::Tensor& labels) {
  const auto rows = ids.split(*config_.micro_batch);
  const auto targets = (labels.defined() ? labels : ids).split(*config_.micro_batch);
  model_->begin_step(index);
  const TokenLoss loss = accumulate_gradients(parameters_, static_cast<int64_t>(rows.size()), [&](int64_t i) {
    return model_->next_token_loss(rows[static_cast<size_t>(i)], targets[static_cast<size_t>(i)]);
  });
  const c10::NoGradGuard no_grad;
  const auto scale = loss.count.clamp_min(1).to(loss.sum.scalar_type()).reciprocal();
  const auto norm = scale_and_clip(gradients_of(parameters_), scale, config_.clip_norm);
  const auto is_bad = at::isfinite(norm).logical_and(at::isfinite(loss.sum)).logical_not();
  failed_step_ = at::where(failed_step_.lt(0).logical_and(is_bad), index, failed_step_);
  const auto skip = failed_step_.ge(0).logical_or(loss.count.eq(0)).to(at::kFloat);
  optimizer_.step(lr, skip);
  model_->end_step(skip);
  return {.loss = loss, .gradient_norm = norm};
}

}  // namespace skipless
