#include "train/reporter.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "models/model_info.h"
#include "train/cards.h"
#include "train/clip.h"
#include "train/cuda_driver.h"
#include "train/layer_statistics.h"
#include "train/peak_memory.h"

namespace skipless {

using nlohmann::json;

Reporter::Reporter(const RunConfig& config, const BudgetPlan& plan, at::Device device, bool terminal)
    : config_(config), plan_(plan), device_(device), progress_(terminal), times_(device) {}

void Reporter::open(const std::filesystem::path& metrics, const TrainingState& state) {
  const auto on_device = at::TensorOptions().device(device_);
  window_loss_ = at::full({}, state.window_loss, on_device.dtype(at::kDouble));
  window_tokens_ = at::full({}, state.window_tokens, on_device.dtype(at::kLong));
  reported_ = spent(state);
  timed_seconds_ = state.seconds;
  peak_flops_ = peak_flops(cuda_device_name(device_), state.precision);
  metrics_file_ = metrics;
  const auto warn = [this](const std::string& problem) {
    progress_.clear();
    spdlog::warn("{}", problem);
  };
  metrics_ = std::make_unique<MetricsLog>(metrics, state.step, warn);
  if (config_.train.tensorboard) {
    events_ = std::make_unique<EventLog>(metrics.parent_path(), state.step, warn);
  } else {
    cut_back_events(metrics.parent_path(), state.step, warn);
  }
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
  times_.end(state.seconds - timed_seconds_);
  timed_seconds_ = state.seconds;
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
  const double tokens_per_second = sequences_per_second_ * static_cast<double>(config_.model.context_length);
  StepReport figures{.position = position(state),
                     .loss = loss,
                     .tokens_per_second = tokens_per_second,
                     .ms_per_step = times_.take_median(),
                     .peak_memory = peak_memory(device_)};
  if (peak_flops_) {
    const auto flops = flops_per_token(config_.model, config_.predicted_share());
    figures.flops_utilisation = tokens_per_second * flops.training / *peak_flops_;
  }
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
                      {"data_wait_ms", waited_ / static_cast<double>(state.step - reported_.steps) * 1000},
                      {"peak_memory", figures.peak_memory},
                      {"mfu", figures.flops_utilisation ? json(*figures.flops_utilisation) : json()}};
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
  if (result.tokens == 0) {
    spdlog::warn("step {}  not evaluated: no token of the validation data is masked", state.step);
    return;
  }
  const bool masked = config_.is_masked();
  spdlog::info("step {}  validation loss {:.4f}  perplexity {:.2f}  ({} {}tokens)", state.step, result.loss(),
               result.perplexity(), result.tokens, masked ? "masked " : "");
  append({{"kind", "eval"},
          {"step", state.step},
          {"loss", result.loss()},
          {masked ? "masked_perplexity" : "perplexity", result.perplexity()},
          {"predicted_tokens", result.tokens},
          {"tokens", state.tokens},
          {"seconds", state.seconds}});
}

void Reporter::layers(const TrainingState& state, TransformerImpl& model, const Batch& batch) {
  constexpr int64_t kMostSequences = 4;
  const int64_t sequences = std::min({kMostSequences, *config_.train.micro_batch, batch.sequences()});
  auto line = activation_statistics(model, batch.split(sequences).front());
  line["kind"] = "layers";
  line["step"] = state.step;
  line["grad_norm"] = gradient_norms(model, clip_factor(last_norm_, config_.train.clip_norm).item<double>());
  line["gain"] = gains(model);
  line.update(followed(model));
  append(line);
}

void Reporter::save(TrainingState& state) const {
  state.window_loss = window_loss_.item<double>();
  state.window_tokens = window_tokens_.item<int64_t>();
}

void Reporter::append(const json& line) {
  if (const std::string problem = metrics_->add(line); !problem.empty()) {
    progress_.clear();
    spdlog::error("cannot write {}: {}", metrics_file_.string(), problem);
  }
  if (events_) events_->add(line);
}

}  // namespace skipless
