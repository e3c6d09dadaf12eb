#include "train/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "data/chunk_batches.h"
#include "data/prepared_data.h"
#include "eval/loss.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/learner.h"
#include "train/metrics_log.h"
#include "train/module_state.h"
#include "train/non_finite.h"
#include "train/progress.h"
#include "train/run_folder.h"
#include "train/stop_signal.h"
#include "train/stopwatch.h"

namespace skipless {

namespace {

constexpr const char* kCpuGenerator = "rng.cpu";
constexpr const char* kDeviceGenerator = "rng.cuda";

PreparedData open_data(const RunConfig& config) {
  PreparedData data = PreparedData::open(config.data.folder);
  if (data.vocab_size != config.model.vocab_size) {
    throw UserError(fmt::format("model.vocab_size is {}, but the tokenizer of data.folder '{}' has {} tokens",
                                config.model.vocab_size, config.data.folder, data.vocab_size));
  }
  return data;
}

std::optional<EvaluationBatches> evaluation_batches(const RunConfig& config, const PreparedData& data) {
  if (config.train.eval_every == 0) return std::nullopt;
  return EvaluationBatches(data.validation, config.model.context_length, *config.train.micro_batch,
                           config.train.eval_tokens);
}

/// Sends what is logged to train.log too, for as long as it lives.
class LogFile {
 public:
  explicit LogFile(const std::filesystem::path& file) {
    std::error_code missing;
    const auto status = std::filesystem::status(file, missing);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      throw UserError(fmt::format("cannot write {}: not an ordinary file", file.string()));
    }
    try {
      sink_ = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string());
    } catch (const spdlog::spdlog_ex& error) {
      throw UserError(fmt::format("cannot write {}: {}", file.string(), error.what()));
    }
    spdlog::default_logger()->sinks().push_back(sink_);
  }
  ~LogFile() {
    auto& sinks = spdlog::default_logger()->sinks();
    sinks.erase(std::remove(sinks.begin(), sinks.end(), sink_), sinks.end());
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

 private:
  spdlog::sink_ptr sink_;
};

/// Refuses the weights of another code (skipless convert): no data, no optimizer, no way to go on.
void refuse_imported(const std::filesystem::path& folder) {
  const CheckpointFolder checkpoints(RunPaths{folder}.checkpoints());
  if (checkpoints.steps() != std::vector<int64_t>{0} || !checkpoints.read_state(0).train_data.empty()) return;
  throw UserError(fmt::format("{}: imported weights, for eval only: no optimizer state", folder.string()));
}

/// Refuses a run of another config, by key; says what is allowed to differ. `begun`: there is a checkpoint, before
/// which nothing is lost with the old config.
void compare_with_run(const RunPaths& paths, const std::string& config, bool begun) {
  std::string refused;
  for (const auto& difference : compare_configs(run_config_text(paths.folder), config)) {
    const auto text = fmt::format("{} is {} in the run, {} now", difference.path, difference.left, difference.right);
    if (may_change_between_runs(difference.path)) {
      spdlog::warn("continuing with another setting: {}", text);
    } else if (!begun) {
      spdlog::warn("there is no checkpoint yet, the run starts anew with another setting: {}", text);
    } else {
      refused += "\n  " + text;
    }
  }
  if (!refused.empty()) {
    throw UserError(fmt::format("{}: a run of another config; use another folder, or the run's own config:{}",
                                paths.folder.string(), refused));
  }
}

/// 0: as many as LibTorch takes by itself. More than the machine runs at once only get in each other's way.
void set_threads(int64_t threads) {
  if (threads == 0) return;
  const int64_t most = std::thread::hardware_concurrency();  // 0: not known
  if (most > 0 && threads > most) {
    spdlog::warn("train.threads is {}, but this machine has {} to run: {} are used", threads, most, most);
    threads = most;
  }
  at::set_num_threads(static_cast<int>(threads));
}

void restore_generator(const std::string& source, const char* name, const at::Tensor& saved, at::Device device) {
  auto generator = generator_of(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  try {
    generator.set_state(saved);
  } catch (const c10::Error&) {
    throw UserError(fmt::format("{}: tensor '{}' is not the state of a generator of random numbers on {}", source, name,
                                device.str()));
  }
}

class Trainer {
 public:
  Trainer(const RunConfig& config, const std::filesystem::path& folder, const std::string& version, bool terminal)
      : config_(config),
        device_(find_device(config.train.device)),
        data_(open_data(config)),
        batches_(data_.train, config.model.context_length, config.train.batch_size,
                 static_cast<uint64_t>(config.train.data_seed), /*shuffle=*/true),
        evaluation_(evaluation_batches(config, data_)),
        run_(folder),
        log_(run_.paths().log()),
        checkpoints_(run_.paths().checkpoints()),
        config_text_(write_config(config)),
        version_(version),
        progress_(config.train.steps, terminal) {
    if (is_run(folder)) compare_with_run(run_.paths(), config_text_, /*begun=*/!checkpoints_.steps().empty());
    checkpoints_.remove_leftovers();
  }

  TrainOutcome run();

 private:
  void start();
  void announce();
  void resume(Checkpoint checkpoint);
  void one_step();
  at::Tensor batch(int64_t index) const;
  void report();
  void evaluate();
  void save();
  Checkpoint snapshot();
  void append(const nlohmann::json& line);
  [[noreturn]] void stop_non_finite(int64_t step);
  bool is_last() const { return state_.step >= config_.train.steps; }
  bool due(int64_t every) const { return is_last() || (every > 0 && state_.step % every == 0); }

  RunConfig config_;
  at::Device device_;
  PreparedData data_;
  ChunkBatches batches_;
  std::optional<EvaluationBatches> evaluation_;
  RunFolder run_;
  LogFile log_;
  CheckpointFolder checkpoints_;
  std::string config_text_;
  std::string version_;
  Progress progress_;

  std::unique_ptr<Learner> learner_;
  std::unique_ptr<MetricsLog> metrics_;
  TrainingState state_;
  Stopwatch watch_;
  at::Tensor window_loss_;    // double scalar on the device: sum since the last report
  at::Tensor window_tokens_;  // int64 scalar on the device
  at::Tensor last_norm_;
  int64_t reported_step_ = 0;  // the last report of this process, for its speed
  double reported_seconds_ = 0;
  int64_t saved_step_ = -1;
};

void Trainer::start() {
  set_threads(config_.train.threads);
  learner_ = std::make_unique<Learner>(config_, device_);
  const auto on_device = at::TensorOptions().device(device_);
  const auto warn = [](const std::string& problem) { spdlog::warn("{}", problem); };
  auto checkpoint = checkpoints_.read_newest(warn);
  if (checkpoint) resume(std::move(*checkpoint));
  state_.train_data = data_.train.checksum();
  state_.tokenizer = data_.tokenizer_hash;
  window_loss_ = at::full({}, state_.window_loss, on_device.dtype(at::kDouble));
  window_tokens_ = at::full({}, state_.window_tokens, on_device.dtype(at::kLong));
  watch_.set(state_.seconds);
  reported_step_ = state_.step;
  reported_seconds_ = state_.seconds;
  metrics_ = std::make_unique<MetricsLog>(run_.paths().metrics(), state_.step, warn);
  // Only now is it certain that the run goes on with this config.
  write_file(run_.paths().config(), config_text_);
  write_file(run_.paths().version(), version_);
}

void Trainer::resume(Checkpoint checkpoint) {
  const std::string source = checkpoints_.path_of(checkpoint.state.step).string();
  if (checkpoint.state.step > config_.train.steps) {
    throw UserError(fmt::format("{}: checkpoint of step {}, but the run has {} steps", source, checkpoint.state.step,
                                config_.train.steps));
  }
  if (checkpoint.state.train_data != data_.train.checksum()) {
    throw UserError(
        fmt::format("{}: was trained on other data than data.folder '{}' holds now", source, config_.data.folder));
  }
  load_module_state(*learner_->model(), checkpoint.model.tensors, source);
  const std::string optimizer_source = checkpoints_.optimizer_file(checkpoint.state.step).string();
  auto& saved = checkpoint.optimizer.tensors;
  const auto cpu = saved.extract(kCpuGenerator), device = saved.extract(kDeviceGenerator);
  if (cpu.empty()) throw UserError(fmt::format("{}: no tensor '{}'", optimizer_source, kCpuGenerator));
  restore_generator(optimizer_source, kCpuGenerator, cpu.mapped(), at::kCPU);
  // A run that went from the CPU to a device has none yet.
  if (device_.is_cuda() && !device.empty()) {
    restore_generator(optimizer_source, kDeviceGenerator, device.mapped(), device_);
  }
  learner_->optimizer().load(saved, optimizer_source);
  state_ = checkpoint.state;
  saved_step_ = state_.step;
}

void Trainer::announce() {
  const auto& train = config_.train;
  spdlog::info("{}\n{}", run_.paths().folder.string(), describe(learner_->optimizer().groups()));
  spdlog::info(
      "block {}, {} layers of {}, device {}, {} threads; {} steps of {} sequences of {} tokens, {} chunks an epoch",
      config_.model.block, config_.model.n_layer, config_.model.d_model, train.device, at::get_num_threads(),
      train.steps, train.batch_size, config_.model.context_length, batches_.chunks());
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
  append({{"kind", "start"},
          {"step", state_.step},
          {"block", config_.model.block},
          {"parameters", parameters},
          {"device", train.device},
          {"threads", at::get_num_threads()}});
}

TrainOutcome Trainer::run() {
  const StopSignal stop;
  start();
  TrainOutcome outcome;
  outcome.was_done = is_last();
  if (outcome.was_done) {
    spdlog::info("{}: done, all {} steps", run_.paths().folder.string(), state_.step);
  } else {
    announce();
  }
  while (!is_last() && stop.received() == 0) {
    one_step();
    if (due(config_.train.log_every) || state_.step == 1) report();
    if (config_.train.eval_every > 0 && due(config_.train.eval_every)) evaluate();
    if (due(config_.train.save_every)) save();
  }
  if (!is_last() && saved_step_ != state_.step) save();
  progress_.clear();
  if (!is_last()) {
    outcome.signal = stop.received();
    spdlog::info("stopped by {} after step {}{}", outcome.signal == SIGINT ? "SIGINT" : "SIGTERM", state_.step,
                 saved_step_ == state_.step ? ", saved; the same command continues" : "");
  }
  if (saved_step_ != state_.step) throw RunError(fmt::format("step {} could not be saved", state_.step));
  if (!metrics_->all_written()) throw RunError(fmt::format("{} is not complete", run_.paths().metrics().string()));
  outcome.step = state_.step;
  outcome.validation_loss = state_.validation_loss;
  return outcome;
}

at::Tensor Trainer::batch(int64_t index) const {
  const auto options = at::TensorOptions().dtype(at::kLong).pinned_memory(device_.is_cuda());
  auto ids = at::empty({config_.train.batch_size, config_.model.context_length}, options);
  batches_.batch(index, {ids.data_ptr<int64_t>(), static_cast<size_t>(ids.numel())});
  return ids.to(device_, /*non_blocking=*/true);
}

void Trainer::one_step() {
  watch_.start();
  const auto step = learner_->step(state_.step, batch(state_.step));
  window_loss_ += step.loss.sum;
  window_tokens_ += step.loss.count;
  last_norm_ = step.gradient_norm;
  ++state_.step;
  state_.tokens += config_.train.batch_size * config_.model.context_length;
  state_.validation_loss.reset();
  watch_.stop();
  progress_.advance(state_.step);
}

void Trainer::report() {
  watch_.start();
  const double loss = window_loss_.item<double>() / static_cast<double>(window_tokens_.item<int64_t>());
  watch_.stop();
  if (const int64_t failed = learner_->failed_step(); failed >= 0) stop_non_finite(failed);
  const double seconds = watch_.seconds() - reported_seconds_;
  const auto steps = static_cast<double>(state_.step - reported_step_);
  const double step_tokens = static_cast<double>(config_.train.batch_size * config_.model.context_length);
  const StepReport figures{.step = state_.step,
                           .loss = loss,
                           .tokens_per_second = steps * step_tokens / seconds,
                           .ms_per_step = seconds / steps * 1000};
  progress_.report(figures);
  append({{"kind", "train"},
          {"step", state_.step},
          {"loss", loss},
          {"lr", learning_rate(config_.train.schedule, config_.train.steps, state_.step - 1)},
          {"grad_norm", last_norm_.item<double>()},
          {"tokens", state_.tokens},
          {"seconds", watch_.seconds()},
          {"tokens_per_second", figures.tokens_per_second},
          {"ms_per_step", figures.ms_per_step}});
  reported_step_ = state_.step;
  reported_seconds_ = watch_.seconds();
  window_loss_.zero_();
  window_tokens_.zero_();
}

void Trainer::evaluate() {
  // What the device still has to do of the steps belongs to them.
  watch_.start();
  synchronize(device_);
  watch_.stop();
  const LossResult result = evaluate_loss(learner_->model(), *evaluation_, device_);
  progress_.clear();
  spdlog::info("step {}  validation loss {:.4f}  perplexity {:.2f}  ({} tokens)", state_.step, result.loss(),
               result.perplexity(), result.tokens);
  append({{"kind", "eval"},
          {"step", state_.step},
          {"loss", result.loss()},
          {"perplexity", result.perplexity()},
          {"predicted_tokens", result.tokens},
          {"tokens", state_.tokens},
          {"seconds", watch_.seconds()}});
  if (!std::isfinite(result.loss())) return;
  state_.validation_loss = result.loss();
  if (!state_.best || result.loss() < state_.best->loss) state_.best = BestLoss{state_.step, result.loss()};
}

Checkpoint Trainer::snapshot() {
  Checkpoint checkpoint;
  checkpoint.state = state_;
  checkpoint.state.seconds = watch_.seconds();
  checkpoint.state.window_loss = window_loss_.item<double>();
  checkpoint.state.window_tokens = window_tokens_.item<int64_t>();
  checkpoint.model = {.tensors = module_state(*learner_->model()), .metadata = {{"config", config_text_}}};
  checkpoint.optimizer.tensors = learner_->optimizer().state();
  checkpoint.optimizer.tensors.emplace(kCpuGenerator, generator_of(at::kCPU).get_state());
  if (device_.is_cuda()) checkpoint.optimizer.tensors.emplace(kDeviceGenerator, generator_of(device_).get_state());
  return checkpoint;
}

void Trainer::save() {
  if (const int64_t failed = learner_->failed_step(); failed >= 0) stop_non_finite(failed);
  if (const auto name = first_non_finite_parameter(*learner_->model()); !name.empty()) {
    throw RunError(fmt::format("step {}: {} is not finite; nothing was saved", state_.step, name));
  }
  const c10::NoGradGuard no_grad;
  progress_.clear();
  try {
    checkpoints_.save(snapshot(), config_.train.keep_checkpoints);
    saved_step_ = state_.step;
    spdlog::debug("saved {}", checkpoints_.path_of(state_.step).string());
  } catch (const std::runtime_error& error) {
    spdlog::error("{}; the checkpoints before it are untouched", error.what());
  }
}

void Trainer::append(const nlohmann::json& line) {
  if (const std::string problem = metrics_->add(line); !problem.empty()) {
    progress_.clear();
    spdlog::error("cannot write {}: {}", run_.paths().metrics().string(), problem);
  }
}

void Trainer::stop_non_finite(int64_t step) {
  progress_.clear();
  const std::string name = first_non_finite(learner_->model(), batch(step), *config_.train.micro_batch);
  const auto good = checkpoints_.steps();
  throw RunError(fmt::format(
      "step {}: the loss or its gradient is not finite; the first bad tensor is {}. {}", step + 1,
      name.empty() ? "not to be found again" : name,
      good.empty() ? "There is no checkpoint yet"
                   : fmt::format("The last good checkpoint is {}", checkpoints_.path_of(good.back()).string())));
}

}  // namespace

TrainOutcome train(const RunConfig& config, const std::filesystem::path& folder, const std::string& version,
                   bool terminal) {
  refuse_imported(folder);
  return Trainer(config, folder, version, terminal).run();
}

}  // namespace skipless
