#include "train/finetune_run.h"

#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "data/permutation.h"
#include "eval/glue_prediction.h"
#include "train/budget.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/learner.h"
#include "train/learner_state.h"
#include "train/log_file.h"
#include "train/metrics_log.h"
#include "train/module_state.h"
#include "train/peak_memory.h"
#include "train/progress.h"
#include "train/run_folder.h"
#include "train/run_setup.h"
#include "train/stopwatch.h"

namespace skipless {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kResult = "result.json";

int64_t divided_up(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

/// "F1 0.8812  accuracy 0.8260"
std::string text_of(const std::vector<GlueScore>& scores) {
  std::string text;
  for (const auto& score : scores)
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : "  ", score.name, score.value);
  return text;
}

class FinetuneRun {
 public:
  FinetuneRun(const FinetuneRunConfig& config, const FinetuneStart& start, const GlueTaskData& data,
              const FinetunePlace& place)
      : config_(config),
        train_(config.recipe.train),
        start_(start),
        data_(data),
        place_(place),
        run_(place.folder),
        checkpoints_(run_.paths().checkpoints()),
        config_text_(write_config(config)),
        result_file_(place.folder / kResult),
        steps_of_epoch_(divided_up(data.train.size(), train_.batch_size)),
        progress_(place.terminal),
        watch_(steady_seconds) {
    if (is_run(place.folder)) compare_with_run(run_.paths(), config_text_, has_begun());
    checkpoints_.remove_leftovers();
  }

  std::optional<SeedResult> run();

 private:
  bool has_begun() const { return fs::exists(result_file_) || !checkpoints_.steps().empty(); }
  void start();
  std::vector<int64_t> rows_of(int64_t step) const;
  Batch batch_of(int64_t step) const;
  void one_step();
  void report();
  bool has_diverged();
  std::vector<GlueScore> evaluate();
  void evaluate_epoch();
  void save();
  void require_saved() const;
  SeedResult finish();
  std::vector<GlueScore> best_scores(const std::vector<GlueScore>& last, int64_t best_step);
  void keep_model(int64_t step);
  void append(const json& line);

  FinetuneRunConfig config_;
  FinetuneTrainConfig train_;
  const FinetuneStart& start_;
  const GlueTaskData& data_;
  FinetunePlace place_;
  RunFolder run_;
  CheckpointFolder checkpoints_;
  std::string config_text_;
  fs::path result_file_;
  int64_t steps_of_epoch_;
  int64_t steps_ = 0;
  Progress progress_;
  Stopwatch watch_;  // its time is state_.seconds

  at::Device device_ = at::kCPU;
  Classifier model_;
  std::unique_ptr<Learner> learner_;
  std::optional<BudgetPlan> plan_;
  std::unique_ptr<LogFile> log_;
  std::unique_ptr<MetricsLog> metrics_;
  TrainingState state_;
  at::Tensor window_loss_;   // double scalar on the device: sum since the last report
  at::Tensor window_count_;  // int64 scalar on the device
  at::Tensor last_norm_;
  double last_lr_ = 0;
  int64_t saved_step_ = -1;
  std::optional<Divergence> divergence_;
  BudgetSpent reported_;  // at the last report of this process, for its speed
  int64_t reported_tokens_ = 0;
};

std::optional<SeedResult> FinetuneRun::run() {
  std::error_code ignored;
  if (fs::exists(result_file_)) {
    fs::remove_all(run_.paths().checkpoints(), ignored);
    return read_seed_result(result_file_);
  }
  log_ = std::make_unique<LogFile>(run_.paths().log());
  start();
  bool stopped = false;  // a signal of before ends it after one step
  while (!state_.done && !divergence_ && !stopped) {
    one_step();
    const bool epoch_ends = state_.done || state_.step % steps_of_epoch_ == 0;
    if (epoch_ends || state_.step == 1 || state_.step % train_.log_every == 0) report();
    if (divergence_) break;
    if (epoch_ends) evaluate_epoch();
    stopped = place_.stop->received() != 0;
    const bool due = train_.save_every > 0 && state_.step % train_.save_every == 0;
    if (epoch_ends || due || stopped) save();
    // An epoch that is not on the disk could not be the best one, nor be continued from.
    if ((epoch_ends || stopped) && !divergence_) require_saved();
  }
  progress_.clear();
  if (stopped && !state_.done && !divergence_) {
    spdlog::info("stopped after step {}, saved; the same command continues", state_.step);
    return std::nullopt;
  }
  const SeedResult result = finish();
  write_file(result_file_, to_json(result).dump(2) + "\n");
  fs::remove_all(run_.paths().checkpoints(), ignored);
  return result;
}

void FinetuneRun::start() {
  device_ = find_device(train_.device);
  const auto precision = choose_precision(train_.precision, traits_of(device_));
  steps_ = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(train_.epochs * static_cast<double>(steps_of_epoch_))));
  const TrainConfig train = train_.train_config(steps_);
  plan_.emplace(train, train, train.schedule, config_.recipe.data.max_length, data_.train.size());
  seed_generators(device_, train_.seed);
  model_ = glue_model(config_.model, config_.recipe.head, *data_.task, start_.tensors, start_.text);
  model_->to(device_);
  learner_ = std::make_unique<Learner>(model_, train, precision.precision);
  const auto warn = [this](const std::string& problem) {
    progress_.clear();
    spdlog::warn("{}", problem);
  };
  if (auto checkpoint = checkpoints_.read_newest(warn)) {
    restore_learner(*learner_, device_, *checkpoint, checkpoints_);
    state_ = checkpoint->state;
    saved_step_ = state_.step;
  }
  state_.train_data = data_.train.checksum();
  state_.tokenizer = data_.tokenizer;
  state_.on_cuda = device_.is_cuda();
  state_.precision = name_of(precision.precision);
  watch_.set(state_.seconds);
  reported_ = spent(state_);
  reported_tokens_ = state_.tokens;
  const auto options = at::TensorOptions().device(device_);
  window_loss_ = at::zeros({}, options.dtype(at::kDouble)).fill_(state_.window_loss);
  window_count_ = at::zeros({}, options.dtype(at::kLong)).fill_(state_.window_tokens);
  metrics_ = std::make_unique<MetricsLog>(run_.paths().metrics(), state_.step, warn);
  write_file(run_.paths().config(), config_text_);
  write_file(run_.paths().version(), place_.version);
  spdlog::info("{}: {} examples, {} epochs ({} steps), seed {}, precision {}{}", place_.folder.string(),
               data_.train.size(), train_.epochs, steps_, train_.seed, state_.precision,
               state_.step > 0 ? fmt::format("; continuing after step {}", state_.step) : "");
}

std::vector<int64_t> FinetuneRun::rows_of(int64_t step) const {
  return glue_rows(data_.train.size(), train_.batch_size, train_.seed, step);
}

Batch FinetuneRun::batch_of(int64_t step) const {
  return glue_batch(*model_, data_.train, rows_of(step), data_.padding_id, device_.is_cuda()).to(device_);
}

void FinetuneRun::one_step() {
  watch_.start();
  const Batch batch = batch_of(state_.step);
  last_lr_ = plan_->learning_rate(spent(state_));
  const auto step = learner_->step(state_.step, last_lr_, batch);
  window_loss_ += step.loss.sum;
  window_count_ += step.loss.count;
  last_norm_ = step.gradient_norm;
  const auto rows = rows_of(state_.step);
  for (const int64_t row : rows) state_.tokens += static_cast<int64_t>(data_.train.ids(row).size());
  state_.sequences += static_cast<int64_t>(rows.size());
  ++state_.step;
  state_.validation_loss.reset();
  state_.done = state_.step == steps_;
  watch_.stop();
  state_.seconds = watch_.seconds();
  progress_.advance(
      {.step = state_.step,
       .steps = steps_,
       .fraction = plan_->fraction(spent(state_)),
       .seconds_left = (state_.seconds - reported_.seconds) / static_cast<double>(state_.step - reported_.steps) *
                       static_cast<double>(steps_ - state_.step)});
}

bool FinetuneRun::has_diverged() {
  const int64_t failed = learner_->failed_step();
  if (failed < 0) return false;
  const std::string name = learner_->first_non_finite(batch_of(failed));
  divergence_ = Divergence{.step = failed + 1, .tensor = name.empty() ? "loss or gradient" : name};
  progress_.clear();
  spdlog::warn("{}: step {}: {} is not finite; this seed ends here", place_.folder.string(), failed + 1,
               divergence_->tensor);
  append({{"kind", "diverged"}, {"step", state_.step}, {"failed_step", failed + 1}, {"tensor", divergence_->tensor}});
  return true;
}

void FinetuneRun::report() {
  watch_.start();
  const double loss = window_loss_.item<double>() / static_cast<double>(window_count_.item<int64_t>());
  watch_.stop();
  state_.seconds = watch_.seconds();
  if (has_diverged()) return;
  const double seconds = state_.seconds - reported_.seconds;
  const double steps = static_cast<double>(state_.step - reported_.steps);
  const StepReport figures{.position = {.step = state_.step,
                                        .steps = steps_,
                                        .fraction = plan_->fraction(spent(state_)),
                                        .seconds_left = seconds / steps * static_cast<double>(steps_ - state_.step)},
                           .loss = loss,
                           .tokens_per_second = static_cast<double>(state_.tokens - reported_tokens_) / seconds,
                           .ms_per_step = seconds / steps * 1000,
                           .peak_memory = peak_memory(device_)};
  progress_.report(figures);
  json line{{"kind", "train"},
            {"step", state_.step},
            {"loss", loss},
            {"lr", last_lr_},
            {"grad_norm", last_norm_.item<double>()},
            {"seconds", state_.seconds},
            {"tokens_per_second", figures.tokens_per_second},
            {"ms_per_step", figures.ms_per_step},
            {"peak_memory", figures.peak_memory}};
  if (auto* const scaler = learner_->scaler()) {
    line["loss_scale"] = scaler->scale().item<double>();
    line["skipped_steps"] = scaler->skipped();
  }
  append(line);
  window_loss_.zero_();
  window_count_.zero_();
  reported_ = spent(state_);
  reported_tokens_ = state_.tokens;
}

std::vector<GlueScore> FinetuneRun::evaluate() {
  std::vector<GlueScore> scores;
  for (size_t i = 0; i < data_.dev.size(); ++i) {
    const auto predicted = predict_glue(*model_, data_.dev[i], train_.eval_batch, data_.padding_id, device_);
    const auto of_file = glue_scores(*data_.task, predicted, data_.dev[i].labels(), data_.task->dev[i].suffix);
    scores.insert(scores.end(), of_file.begin(), of_file.end());
  }
  return scores;
}

void FinetuneRun::evaluate_epoch() {
  const auto scores = evaluate();
  progress_.clear();
  spdlog::info("step {}  {} {}", state_.step, data_.task->title, text_of(scores));
  json line{{"kind", "eval"}, {"step", state_.step}, {"seconds", state_.seconds}};
  for (const auto& score : scores) line[score.name] = score.value;
  append(line);
  // What is not a number is never the best.
  if (std::isnan(scores[0].value)) return;
  state_.validation_loss = -scores[0].value;
  if (!state_.best || *state_.validation_loss < state_.best->loss) {
    state_.best = BestLoss{state_.step, *state_.validation_loss};
  }
}

void FinetuneRun::save() {
  if (has_diverged()) return;
  const c10::NoGradGuard no_grad;
  progress_.clear();
  state_.window_loss = window_loss_.item<double>();
  state_.window_tokens = window_count_.item<int64_t>();
  Checkpoint checkpoint{.state = state_,
                        .model = {.tensors = module_state(*model_), .metadata = {{"config", config_text_}}},
                        .optimizer = {}};
  checkpoint.optimizer.tensors = learner_state(*learner_, device_);
  try {
    checkpoints_.save(checkpoint, /*keep=*/1);
    saved_step_ = state_.step;
  } catch (const std::runtime_error& error) {
    spdlog::error("{}; the checkpoints before it are untouched", error.what());
  }
}

void FinetuneRun::require_saved() const {
  if (saved_step_ == state_.step) return;
  throw RunError(fmt::format("{}: step {} could not be saved; the same command continues from the last one that was",
                             place_.folder.string(), state_.step));
}

SeedResult FinetuneRun::finish() {
  SeedResult result{.seed = train_.seed,
                    .steps = state_.step,
                    .seconds = state_.seconds,
                    .last = {},
                    .best = {},
                    .best_step = 0,
                    .divergence = divergence_};
  if (!divergence_) {
    result.last = evaluate();
    for (const auto& score : result.last) {
      if (std::isnan(score.value)) {
        spdlog::warn("{}: {} is not defined: all predictions are the same, or some are not finite",
                     place_.folder.string(), score.name);
      }
    }
    const double chance = data_.task->is_regression() ? 0 : 1 / static_cast<double>(data_.task->labels.size());
    for (const auto& score : result.last) {
      if (score.name.starts_with("accuracy") && score.value < chance) {
        spdlog::warn("{}: {} is {:.4f}, below the {:.4f} of guessing", place_.folder.string(), score.name, score.value,
                     chance);
      }
    }
  }
  if (const auto best = checkpoints_.best_step()) {
    result.best_step = *best;
    if (*best != state_.step || divergence_) {
      load_module_state(*model_, checkpoints_.read_model(*best).tensors, checkpoints_.path_of(*best).string());
      result.best = evaluate();
    } else {
      result.best = result.last;
    }
    keep_model(*best);
  }
  return result;
}

void FinetuneRun::keep_model(int64_t step) {
  const CheckpointFolder folder(place_.folder / kBestModel);
  const auto there = folder.steps();
  std::error_code ignored;
  if (!there.empty()) fs::remove_all(place_.folder / kBestModel, ignored);
  folder.save({.state = checkpoints_.read_state(step),
               .model = {.tensors = module_state(*model_), .metadata = {{"config", config_text_}}},
               .optimizer = {}},
              /*keep=*/1);
}

void FinetuneRun::append(const json& line) {
  if (const std::string problem = metrics_->add(line); !problem.empty()) {
    progress_.clear();
    spdlog::error("cannot write {}: {}", run_.paths().metrics().string(), problem);
  }
}

}  // namespace

ModelConfig finetuned_config(ModelConfig model, double dropout) {
  model.dropout = {.embedding = dropout, .attention = dropout, .branch = dropout};
  model.identity_start.schedule = IdentitySchedule::off;
  return model;
}

Classifier glue_model(const ModelConfig& config, const ClassifierConfig& head, const GlueTask& task,
                      const std::map<std::string, at::Tensor>& tensors, const std::string& source) {
  ClassifierConfig classifier = head;
  classifier.n_labels = task.is_regression() ? 1 : static_cast<int64_t>(task.labels.size());
  Classifier model = make_classifier(config, classifier);
  if (tensors.empty()) return model;
  const c10::NoGradGuard no_grad;
  for (auto& [name, tensor] : module_state(*model)) {
    const auto found = tensors.find(name);
    const bool same = found != tensors.end() && found->second.sizes() == tensor.sizes();
    if (same) {
      at::Tensor(tensor).copy_(found->second);
    } else if (!name.starts_with("head_") && name.find(".feedback_") == std::string::npos) {  // branch_gain.h measures
      throw UserError(
          fmt::format("{}: its tensor '{}' is missing or of another shape than this model's", source, name));
    }
  }
  return model;
}

std::vector<int64_t> glue_rows(int64_t size, int64_t batch_size, int64_t seed, int64_t step) {
  const int64_t steps_of_epoch = divided_up(size, batch_size);
  const int64_t first = step % steps_of_epoch * batch_size;
  const Permutation order(static_cast<uint64_t>(size),
                          mix(static_cast<uint64_t>(seed), static_cast<uint64_t>(step / steps_of_epoch)));
  std::vector<int64_t> rows;
  for (int64_t i = first; i < std::min(first + batch_size, size); ++i) {
    rows.push_back(static_cast<int64_t>(order(static_cast<uint64_t>(i))));
  }
  return rows;
}

std::optional<SeedResult> finetune_seed(const FinetuneRunConfig& config, const FinetuneStart& start,
                                        const GlueTaskData& data, const FinetunePlace& place) {
  return FinetuneRun(config, start, data, place).run();
}

}  // namespace skipless
