// What a run tells of itself while it goes on: lines of metrics.jsonl, TensorBoard events, and progress on the screen.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "eval/loss.h"
#include "train/checkpoint.h"
#include "train/event_log.h"
#include "train/learner.h"
#include "train/metrics_log.h"
#include "train/progress.h"
#include "train/run_config.h"
#include "train/step_times.h"

namespace skipless {

class Reporter {
 public:
  Reporter(const RunConfig& config, const BudgetPlan& plan, at::Device device, bool terminal);

  /// Goes on after `state`; opens `metrics` (metrics_log.h) and, beside it, the events (event_log.h).
  void open(const std::filesystem::path& metrics, const TrainingState& state);
  /// The first line of a process that trains.
  void started(const TrainingState& state, int64_t parameters);
  /// A step's work begins.
  void step_begins() { times_.begin(); }
  /// A step that is done at the learning rate `lr`; waits for nothing.
  void step_done(const TrainingState& state, const Learner::Step& step, double lr);
  /// How long the training stood still for its next batch.
  void waited_for_data(double seconds) { waited_ += seconds; }
  /// The mean loss since the last report, read from the device: the host waits for it.
  double mean_loss() const;
  /// A line of the steps since the last report, whose mean loss is `loss`; `scaler`: null unless in fp16.
  void report(const TrainingState& state, double loss, const LossScaler* scaler);
  void evaluated(const TrainingState& state, const LossResult& result);
  /// A line of the layers' statistics (layer_statistics.h) after the last step, which was done on `ids`.
  void layers(const TrainingState& state, TransformerImpl& model, const Batch& batch);
  /// Writes into `state` what the next line needs of the steps before it.
  void save(TrainingState& state) const;
  /// Takes the progress bar off the screen.
  void clear() { progress_.clear(); }
  /// Whether every line is in its file.
  bool all_written() const { return metrics_->all_written(); }

 private:
  Position position(const TrainingState& state) const;
  void append(const nlohmann::json& line);

  RunConfig config_;
  BudgetPlan plan_;
  at::Device device_;
  Progress progress_;
  std::filesystem::path metrics_file_;
  std::unique_ptr<MetricsLog> metrics_;
  std::unique_ptr<EventLog> events_;  // null without train.tensorboard
  at::Tensor window_loss_;            // double scalar on the device: sum since the last report
  at::Tensor window_tokens_;          // int64 scalar on the device
  at::Tensor last_norm_;
  double waited_ = 0;  // for data, since the last report
  double last_lr_ = 0;
  BudgetSpent reported_;  // at the last report of this process, for its speed
  double sequences_per_second_ = 0;
  StepTimes times_;
  double timed_seconds_ = 0;  // state.seconds after the last step
  std::optional<double> peak_flops_;
};

}  // namespace skipless
