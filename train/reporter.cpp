#include "train/reporter.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <string>

namespace skipless {

Reporter::Reporter(const RunConfig& config, const BudgetPlan& plan, at::Device device, bool terminal)
    : config_(config), plan_(plan), device_(device), progress_(terminal) {}

void Reporter::open(const std::filesystem::path& metrics, const TrainingState& state) {
  const auto on_device = at::TensorOptions().device(device_);
  window_loss_ = at::full({}, state.window_loss, on_device.dtype(at::kDouble));
  window_tokens_ = at::full({}, state.window_tokens, on_device.dtype(at::kLong));
  reported_ = spent(state);
  metrics_file_ = metrics;
  metrics_ = std::make_unique<MetricsLog>(metrics, state.step,
                                          [](const std::string& problem) { spdlog::warn("{}", problem); });
}

void Reporter::started(const TrainingState& state, int64_t parameters) {
  append({{"kind", "start"},
          {"step", state.step},
          {"block", config_.model.block},
          {"parameters", parameters},
          {"device", config_.train.device},
          {"precision", state.precision},
          {"threads", at::get_num_threads()}});
}

void Reporter::step_done(const TrainingState& state, const Learner::Step& step, double lr) {
  window_loss_ += step.loss.sum;
  window_tokens_ += step.loss.count;
  last_norm_ = step.gradient_norm;
  last_lr_ = lr;
  progress_.advance(position(state));
}

Position Reporter::position(const TrainingState& state) const {
  return {.step = state.step,
          .steps = plan_.steps().value_or(0),
          .fraction = plan_.fraction(spent(state)),
          .seconds_left = plan_.seconds_left(spent(state), sequences_per_second_)};
}

double Reporter::mean_loss() const {
  return window_loss_.item<double>() / static_cast<double>(window_tokens_.item<int64_t>());
}

void Reporter::report(const TrainingState& state, double loss, const LossScaler* scaler) {
  const double seconds = state.seconds - reported_.seconds;
  sequences_per_second_ = static_cast<double>(state.sequences - reported_.sequences) / seconds;
  const StepReport figures{
      .position = position(state),
      .loss = loss,
      .tokens_per_second = sequences_per_second_ * static_cast<double>(config_.model.context_length),
      .ms_per_step = seconds / static_cast<double>(state.step - reported_.steps) * 1000};
  progress_.report(figures);
  nlohmann::json line{{"kind", "train"},
                      {"step", state.step},
                      {"loss", loss},
                      {"lr", last_lr_},
                      {"grad_norm", last_norm_.item<double>()},
                      {"tokens", state.tokens},
                      {"seconds", state.seconds},
                      {"tokens_per_second", figures.tokens_per_second},
                      {"ms_per_step", figures.ms_per_step},
                      {"data_wait_ms", waited_ / static_cast<double>(state.step - reported_.steps) * 1000}};
  if (scaler != nullptr) {
    line["loss_scale"] = scaler->scale().item<double>();
    line["skipped_steps"] = scaler->skipped();
  }
  append(line);
  waited_ = 0;
  reported_ = spent(state);
  window_loss_.zero_();
  window_tokens_.zero_();
}

void Reporter::evaluated(const TrainingState& state, const LossResult& result) {
  progress_.clear();
  spdlog::info("step {}  validation loss {:.4f}  perplexity {:.2f}  ({} tokens)", state.step, result.loss(),
               result.perplexity(), result.tokens);
  append({{"kind", "eval"},
          {"step", state.step},
          {"loss", result.loss()},
          {"perplexity", result.perplexity()},
          {"predicted_tokens", result.tokens},
          {"tokens", state.tokens},
          {"seconds", state.seconds}});
}

void Reporter::save(TrainingState& state) const {
  state.window_loss = window_loss_.item<double>();
  state.window_tokens = window_tokens_.item<int64_t>();
}

void Reporter::append(const nlohmann::json& line) {
  if (const std::string problem = metrics_->add(line); !problem.empty()) {
    progress_.clear();
    spdlog::error("cannot write {}: {}", metrics_file_.string(), problem);
  }
}

}  // namespace skipless
