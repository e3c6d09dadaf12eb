#include "train/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "data/prefetcher.h"
#include "eval/loss.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/device_setup.h"
#include "train/learner.h"
#include "train/learner_state.h"
#include "train/log_file.h"
#include "train/module_state.h"
#include "train/non_finite.h"
#include "train/out_of_memory.h"
#include "train/peak_memory.h"
#include "train/precision.h"
#include "train/reporter.h"
#include "train/run_folder.h"
#include "train/run_setup.h"
#include "train/stop_signal.h"
#include "train/stopwatch.h"
#include "train/training_rows.h"

namespace skipless {

namespace {

/// "32", or with a batch-size ramp "8 to 32"
std::string batch_text(const BatchConfig& batch) {
  return batch.batch_start ? fmt::format("{} to {}", *batch.batch_start, batch.batch_size)
                           : fmt::format("{}", batch.batch_size);
}

/// The data of a step: `rows` items of TrainingRows from `first` on.
struct StepRows {
  int64_t step = 0;
  int64_t first = 0;
  int64_t rows = 0;
};

class Trainer {
 public:
  Trainer(const RunConfig& config, const std::filesystem::path& folder, const std::string& version, bool terminal,
          const Clock& clock)
      : config_(config),
        device_(find_device(config.train.device)),
        precision_(choose_precision(config.train.precision, traits_of(device_))),
        data_(open_data(config)),
        rows_(config, data_),
        evaluation_(evaluation_batches(config, data_)),
        evaluation_masker_(evaluation_masker(config, *data_.tokenizer)),
        plan_(config.train, config.train, config.train.schedule, config.model.context_length, rows_.chunks()),
        run_(folder),
        log_(run_.paths().log()),
        checkpoints_(run_.paths().checkpoints()),
        config_text_(write_config(config)),
        version_(version),
        reporter_(config, plan_, device_, terminal),
        watch_(clock),
        at_once_(*config.train.micro_batch) {
    if (is_run(folder)) compare_with_run(run_.paths(), config_text_, /*begun=*/!checkpoints_.steps().empty());
    checkpoints_.remove_leftovers();
  }

  TrainOutcome run();

 private:
  TrainOutcome run_to_the_end();
  void start();
  void announce();
  void resume(Checkpoint checkpoint);
  void one_step();
  Batch next_batch(int64_t rows);
  Batch batch_again(const StepRows& rows) const;
  void tell_of_layers();
  void report();
  void wait_for_device();
  void evaluate();
  void save();
  Checkpoint snapshot();
  [[noreturn]] void stop_non_finite(const StepRows& rows);
  void check_steps();
  bool due(int64_t every) const { return state_.done || (every > 0 && state_.step % every == 0); }

  RunConfig config_;
  at::Device device_;
  PrecisionChoice precision_;
  PreparedData data_;
  TrainingRows rows_;
  std::optional<EvaluationBatches> evaluation_;
  std::optional<TokenMasker> evaluation_masker_;
  BudgetPlan plan_;
  RunFolder run_;
  LogFile log_;
  CheckpointFolder checkpoints_;
  std::string config_text_;
  std::string version_;
  Reporter reporter_;

  std::unique_ptr<Learner> learner_;
  TrainingState state_;
  Stopwatch watch_;                  // its time is state_.seconds
  int64_t at_once_;                  // sequences in work at once
  std::vector<StepRows> unchecked_;  // steps since it was last known that all were finite
  int64_t saved_step_ = -1;
  std::unique_ptr<Prefetcher> loader_;  // stands at state_.sequences
};

void Trainer::start() {
  set_threads_or_warn(config_.train.threads);
  if (const auto setup = set_up_device(device_, precision_.precision); !setup.empty()) spdlog::info("{}", setup);
  learner_ = std::make_unique<Learner>(config_, device_, precision_.precision);
  auto checkpoint = checkpoints_.read_newest([](const std::string& problem) { spdlog::warn("{}", problem); });
  if (checkpoint) resume(std::move(*checkpoint));
  state_.train_data = data_.train.checksum();
  state_.tokenizer = data_.tokenizer_hash;
  state_.on_cuda = device_.is_cuda();
  state_.precision = name_of(precision_.precision);
  watch_.set(state_.seconds);
  reporter_.open(run_.paths().metrics(), state_);
  loader_ = rows_.loader(state_.sequences);
  // Only now is it certain that the run goes on with this config.
  write_file(run_.paths().config(), config_text_);
  keep_tokenizer(config_, run_.paths());
  write_file(run_.paths().version(), version_);
}

void Trainer::resume(Checkpoint checkpoint) {
  const std::string source = checkpoints_.path_of(checkpoint.state.step).string();
  if (plan_.steps() && checkpoint.state.step > *plan_.steps()) {
    throw UserError(fmt::format("{}: checkpoint of step {}, but the run has {} steps", source, checkpoint.state.step,
                                *plan_.steps()));
  }
  if (checkpoint.state.train_data != data_.train.checksum()) {
    throw UserError(
        fmt::format("{}: was trained on other data than data.folder '{}' holds now", source, config_.data.folder));
  }
  restore_learner(*learner_, device_, checkpoint, checkpoints_);
  state_ = checkpoint.state;
  saved_step_ = state_.step;
}

void Trainer::announce() {
  const auto& train = config_.train;
  spdlog::info("{}\n{}", run_.paths().folder.string(), describe(learner_->optimizer().groups()));
  spdlog::info("block {}, {} layers of {}, device {}, {} threads; {} of {} sequences of {} tokens, {} chunks an epoch",
               config_.model.block, config_.model.n_layer, config_.model.d_model, train.device, at::get_num_threads(),
               plan_.text(), batch_text(train), config_.model.context_length, rows_.chunks());
  spdlog::info("precision {}: {}{}", name_of(precision_.precision),
               train.precision == Precision::automatic ? "chosen for " : "as asked for, on ", precision_.reason);
  if (precision_.is_slow) {
    spdlog::warn("train.precision {} is slower than fp32 on {}", name_of(precision_.precision), precision_.reason);
  }
  if (config_.model.soft_cap > 0) {
    spdlog::warn(
        "model.soft_cap {}: attention runs by the plain formula, whose memory grows with the square of the context",
        config_.model.soft_cap);
  }
  if (state_.step > 0) spdlog::info("continuing after step {}", state_.step);
  int64_t parameters = 0;
  for (const auto& group : learner_->optimizer().groups()) {
    for (const auto& parameter : group.parameters) parameters += parameter.tensor.numel();
  }
  reporter_.started(state_, parameters);
}

TrainOutcome Trainer::run() {
  try {
    return run_to_the_end();
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    reporter_.clear();
    throw RunError(out_of_memory_text(
        {.steps_done = state_.step, .sequences = at_once_, .peak_bytes = peak_memory(device_)}, config_));
  }
}

TrainOutcome Trainer::run_to_the_end() {
  const StopSignal stop;
  start();
  TrainOutcome outcome;
  outcome.was_done = state_.done;
  if (outcome.was_done) {
    spdlog::info("{}: done, all {} steps", run_.paths().folder.string(), state_.step);
  } else {
    announce();
  }
  while (!state_.done && stop.received() == 0) {
    one_step();
    if (config_.train.stats_every > 0 && (due(config_.train.stats_every) || state_.step == 1)) tell_of_layers();
    if (due(config_.train.log_every) || state_.step == 1) report();
    if (config_.train.eval_every > 0 && due(config_.train.eval_every)) evaluate();
    if (due(config_.train.save_every)) save();
  }
  if (!state_.done && saved_step_ != state_.step) save();
  reporter_.clear();
  if (!state_.done) {
    outcome.signal = stop.received();
    spdlog::info("stopped by {} after step {}{}", outcome.signal == SIGINT ? "SIGINT" : "SIGTERM", state_.step,
                 saved_step_ == state_.step ? ", saved; the same command continues" : "");
  }
  if (saved_step_ != state_.step) throw RunError(fmt::format("step {} could not be saved", state_.step));
  if (!reporter_.all_written()) throw RunError(fmt::format("{} is not complete", run_.paths().metrics().string()));
  outcome.step = state_.step;
  outcome.validation_loss = state_.validation_loss;
  return outcome;
}

/// The next `rows` sequences of training data; on a GPU through pinned memory, so that the copy goes beside other work.
Batch Trainer::next_batch(int64_t rows) {
  const auto options = at::TensorOptions().dtype(at::kLong).pinned_memory(device_.is_cuda());
  auto made = at::empty({rows, rows_.row_length()}, options);
  const double before = loader_->waited_seconds();
  loader_->take({made.data_ptr<int64_t>(), static_cast<size_t>(made.numel())});
  reporter_.waited_for_data(loader_->waited_seconds() - before);
  return rows_.batch(made).to(device_);
}

Batch Trainer::batch_again(const StepRows& rows) const {
  return rows_.batch(rows.first, rows.rows).to(device_);
}

void Trainer::one_step() {
  watch_.start();
  const StepRows rows{.step = state_.step, .first = state_.sequences, .rows = plan_.next_batch(spent(state_))};
  const double lr = plan_.learning_rate(spent(state_));
  unchecked_.push_back(rows);
  at_once_ = std::min(*config_.train.micro_batch, rows.rows);
  reporter_.step_begins();
  const auto step = learner_->step(state_.step, lr, next_batch(rows.rows));
  ++state_.step;
  state_.sequences += rows.rows;
  state_.tokens += rows.rows * config_.model.context_length;
  state_.validation_loss.reset();
  watch_.stop();
  state_.seconds = watch_.seconds();
  // Decided once: what is still waited for below is time of the next step.
  state_.done = plan_.is_spent(spent(state_));
  reporter_.step_done(state_, step, lr);
}

void Trainer::tell_of_layers() {
  const StepRows rows = unchecked_.back();
  wait_for_device();
  check_steps();
  reporter_.layers(state_, learner_->model(), batch_again(rows));
}

void Trainer::report() {
  watch_.start();
  const double loss = reporter_.mean_loss();
  watch_.stop();
  state_.seconds = watch_.seconds();
  check_steps();
  reporter_.report(state_, loss, learner_->scaler());
}

void Trainer::check_steps() {
  const int64_t failed = learner_->failed_step();
  if (failed < 0) return unchecked_.clear();
  stop_non_finite(
      *std::find_if(unchecked_.begin(), unchecked_.end(), [&](const StepRows& rows) { return rows.step == failed; }));
}

void Trainer::wait_for_device() {
  // What the device still has to do of the steps belongs to them.
  watch_.start();
  synchronize(device_);
  watch_.stop();
  state_.seconds = watch_.seconds();
}

void Trainer::evaluate() {
  wait_for_device();
  check_steps();
  at_once_ = *config_.train.micro_batch;
  const LossResult result =
      evaluate_loss(learner_->model(), *evaluation_, device_, evaluation_masker_ ? &*evaluation_masker_ : nullptr);
  reporter_.evaluated(state_, result);
  if (!std::isfinite(result.loss())) return;
  state_.validation_loss = result.loss();
  if (!state_.best || result.loss() < state_.best->loss) state_.best = BestLoss{state_.step, result.loss()};
}

Checkpoint Trainer::snapshot() {
  Checkpoint checkpoint;
  checkpoint.state = state_;
  reporter_.save(checkpoint.state);
  checkpoint.model = {.tensors = module_state(learner_->model()), .metadata = {{"config", config_text_}}};
  checkpoint.optimizer.tensors = learner_state(*learner_, device_);
  return checkpoint;
}

void Trainer::save() {
  check_steps();
  if (const auto name = first_non_finite_parameter(learner_->model()); !name.empty()) {
    throw RunError(fmt::format("step {}: {} is not finite; nothing was saved", state_.step, name));
  }
  const c10::NoGradGuard no_grad;
  reporter_.clear();
  try {
    checkpoints_.save(snapshot(), config_.train.keep_checkpoints);
    saved_step_ = state_.step;
    spdlog::debug("saved {}", checkpoints_.path_of(state_.step).string());
  } catch (const std::runtime_error& error) {
    spdlog::error("{}; the checkpoints before it are untouched", error.what());
  }
}

void Trainer::stop_non_finite(const StepRows& rows) {
  reporter_.clear();
  std::string what = "the loss or its gradient is not finite";
  if (const auto* const scaler = learner_->scaler()) {
    what = fmt::format(
        "the loss scale has collapsed to {1:g}: the gradient was not finite in {0} steps so far, all skipped",
        scaler->skipped(), scaler->scale().item<double>());
  }
  const std::string name = learner_->first_non_finite(batch_again(rows));
  const auto good = checkpoints_.steps();
  throw RunError(fmt::format(
      "step {}: {}; the first bad tensor is {}. {}", rows.step + 1, what, name.empty() ? "not to be found again" : name,
      good.empty() ? "There is no checkpoint yet"
                   : fmt::format("The last good checkpoint is {}", checkpoints_.path_of(good.back()).string())));
}

}  // namespace

TrainOutcome train(const RunConfig& config, const std::filesystem::path& folder, const std::string& version,
                   bool terminal, const Clock& clock) {
  refuse_imported(folder);
  return Trainer(config, folder, version, terminal, clock).run();
}

}  // namespace skipless
