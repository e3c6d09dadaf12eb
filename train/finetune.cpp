#include "train/finetune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "configs/error.h"
#include "data/glue.h"
#include "data/sequence_builder.h"
#include "eval/glue_prediction.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/device_setup.h"
#include "train/finetune_run.h"
#include "train/glue_submission.h"
#include "train/imported_head.h"
#include "train/load_run.h"
#include "train/module_state.h"
#include "train/paper_numbers.h"
#include "train/run_folder.h"
#include "train/run_setup.h"
#include "train/run_tokenizer.h"
#include "train/stop_signal.h"

namespace skipless {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kAll = "all";
constexpr std::string_view kMnli = "mnli";
constexpr std::string_view kAx = "ax";
constexpr std::string_view kWnli = "wnli";

/// The small tasks whose score gains from it.
bool may_start_from_mnli(const GlueTask& task) {
  return task.name == "rte" || task.name == "stsb" || task.name == "mrpc";
}

/// Of the values of all tensors, whatever file they came from.
std::string checksum_of(const std::map<std::string, at::Tensor>& tensors) {
  uint64_t hash = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto values = tensor.contiguous();
    hash = XXH3_64bits_withSeed(name.data(), name.size(), hash);
    hash = XXH3_64bits_withSeed(values.data_ptr(), values.nbytes(), hash);
  }
  return fmt::format("{:016x}", hash);
}

std::string checksums_of(const GlueTaskData& data) {
  std::string text = fmt::format("train {}", data.train.checksum());
  for (const auto& dev : data.dev) text += fmt::format(" dev {}", dev.checksum());
  return text;
}

class Finetuning {
 public:
  Finetuning(FinetuneConfig config, const FinetuneOptions& options)
      : config_(std::move(config)),
        options_(options),
        glue_(*config_.data.folder),
        out_(options.out.empty() ? options.run / "finetune" / default_name(options) : options.out) {}

  FinetuneOutcome run();

 private:
  static std::string default_name(const FinetuneOptions& options) {
    return options.untrained ? fmt::format("{}_untrained", options.recipe) : options.recipe;
  }

  void choose_tasks();
  void load_start();
  void load_head();
  void check_mnli() const;
  void limit_length();
  void read_all_files() const;
  bool has_folder(const GlueTask& task) const;
  bool is_chosen(std::string_view name) const;
  bool starts_from_mnli(const GlueTask& task) const { return options_.from_mnli && may_start_from_mnli(task); }
  GlueSequences sequences(const GlueTask& task, GlueSplit split, const GlueFile& file) const;
  GlueTaskData data_of(const GlueTask& task) const;
  fs::path folder_of(const GlueTask& task, int64_t seed) const;
  FinetuneStart start_of(const GlueTask& task, int64_t seed) const;
  FinetuneRunConfig config_of(const GlueTask& task, const FinetuneStart& start, const std::string& data,
                              int64_t seed) const;
  bool run_task(const GlueTask& task, const StopSignal& stop, FinetuneOutcome& outcome);
  void write_results(const FinetuneOutcome& outcome) const;
  void submit(const FinetuneOutcome& outcome) const;
  void submit_task(const GlueTask& task, const GlueTask& model_task, const TaskResult& result) const;

  FinetuneConfig config_;
  const FinetuneOptions& options_;
  fs::path glue_;
  fs::path out_;
  std::vector<const GlueTask*> tasks_;  // in the order of the table
  FinetuneStart start_;
  std::optional<SequenceHead> head_;  // that came with imported weights
  std::unique_ptr<const Tokenizer> tokenizer_;
  int64_t padding_id_ = 0;
};

bool Finetuning::has_folder(const GlueTask& task) const {
  std::error_code ignored;
  return std::any_of(task.folders.begin(), task.folders.end(),
                     [&](std::string_view name) { return fs::is_directory(glue_ / name, ignored); });
}

bool Finetuning::is_chosen(std::string_view name) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const GlueTask* task) { return task->name == name; });
}

void Finetuning::choose_tasks() {
  std::set<std::string_view> wanted;
  std::vector<std::string_view> missing;
  for (const auto& given : options_.tasks) {
    if (given != kAll) {
      const GlueTask& task = glue_task(given);
      if (task.train.empty()) {
        throw UserError(fmt::format("{} has no training data: --task mnli --submit DIR predicts it", task.title));
      }
      glue_folder(glue_, task);
      wanted.insert(task.name);
      continue;
    }
    for (const auto& task : glue_tasks()) {
      if (task.train.empty() || (task.name == kWnli && options_.submit.empty())) continue;
      if (has_folder(task)) {
        wanted.insert(task.name);
      } else {
        missing.push_back(task.title);
      }
    }
    if (wanted.empty()) {
      glue_folder(glue_, glue_task("mrpc"));  // says what is there
    }
  }
  for (const auto& task : glue_tasks()) {
    if (wanted.contains(task.name)) tasks_.push_back(&task);
  }
  if (!missing.empty()) spdlog::warn("{} has no {}", glue_.string(), fmt::join(missing, ", "));
}

void Finetuning::load_start() {
  LoadedRun run = load_run(options_.run, options_.checkpoint, "cpu");
  if (run.config.model.kind != ModelKind::bert) {
    throw UserError(
        fmt::format("{}: a {} model, whose tokens do not see those after them; fine-tuning needs an encoder "
                    "(model.kind bert)",
                    options_.run.string(), name_of(run.config.model.kind)));
  }
  tokenizer_ = run_tokenizer(run, options_.run, options_.tokenizer);
  if (tokenizer_->vocab_size() != run.config.model.vocab_size) {
    throw UserError(fmt::format("{}: the model's vocabulary has {} tokens, the tokenizer's {}", options_.run.string(),
                                run.config.model.vocab_size, tokenizer_->vocab_size()));
  }
  padding_id_ = tokenizer_->special_token_id("[PAD]").value_or(0);
  RunConfig changed = run.config;
  changed.model = finetuned_config(changed.model, config_.train.dropout);
  if (!options_.model.empty()) {
    changed = parse_config<RunConfig>(write_config(changed), options_.run.string(), options_.model);
    if (changed.model.kind != ModelKind::bert) throw UserError("model.kind=gpt: fine-tuning needs an encoder, bert");
  }
  start_ = {.name = "run", .text = {}, .model = changed.model, .tensors = {}};
  if (options_.untrained) {
    start_.name = start_.text = "untrained";
  } else {
    start_.tensors = module_state(*run.model);
    start_.text = fmt::format("step {} of the run, {}", run.state.step, checksum_of(start_.tensors));
    if (!options_.model.empty()) {  // whether its tensors still fit
      glue_model(start_.model, config_.head, *tasks_.front(), start_.tensors, options_.run.string());
    }
    load_head();
  }
}

/// What --from-mnli begins with must be there for every seed, and be this run's, by this recipe.
void Finetuning::check_mnli() const {
  const bool needed =
      std::any_of(tasks_.begin(), tasks_.end(), [&](const auto* task) { return starts_from_mnli(*task); });
  if (!needed || is_chosen(kMnli)) return;
  const GlueTask& mnli = glue_task(kMnli);
  for (int64_t i = 0; i < options_.seeds; ++i) {
    const int64_t seed = config_.train.seed + i;
    const fs::path folder = folder_of(mnli, seed);
    if (CheckpointFolder(folder / kBestModel).steps().empty()) {
      throw UserError(fmt::format("--from-mnli: {} has no model of MNLI with seed {} yet; add mnli to --task",
                                  out_.string(), seed));
    }
    const RunPaths paths{folder};
    const auto made = parse_config<FinetuneRunConfig>(run_config_text(folder), paths.config().string());
    compare_with_run(paths, write_config(config_of(mnli, start_of(mnli, seed), made.glue.data, seed)), /*begun=*/true);
  }
}

void Finetuning::load_head() {
  const fs::path file = RunPaths{options_.run}.head();
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  head_ = read_sequence_head(file);
  const auto layer = head_->tensors.find("head_w_1");
  const int64_t width = config_.head.hidden_layer ? config_.head.hidden_width.value_or(start_.model.d_model) : 0;
  if (layer != head_->tensors.end() && layer->second.size(0) != width) {
    spdlog::warn("{}: its layer of width {} is not used, for the recipe's head has {}; head.hidden_width={} takes it",
                 file.string(), layer->second.size(0), width, layer->second.size(0));
  }
}

void Finetuning::limit_length() {
  const int64_t positions = *start_.model.n_positions;
  if (config_.data.max_length > positions) {
    spdlog::warn("data.max_length is {}, but the model has {} positions: longer sequences are cut to these",
                 config_.data.max_length, positions);
    config_.data.max_length = positions;
  }
}

void Finetuning::read_all_files() const {
  const auto check = [&](const GlueTask& task, GlueSplit split) {
    for (const auto& file : task.files(split)) {
      for (const auto& note : read_glue(glue_folder(glue_, task) / file.name, task, split).notes()) {
        spdlog::warn("{}", note);
      }
    }
  };
  for (const auto* task : tasks_) {
    check(*task, GlueSplit::train);
    check(*task, GlueSplit::dev);
    if (!options_.submit.empty()) check(*task, GlueSplit::test);
  }
  const GlueTask& ax = glue_task(kAx);
  if (!options_.submit.empty() && is_chosen(kMnli) && has_folder(ax)) check(ax, GlueSplit::test);
}

GlueSequences Finetuning::sequences(const GlueTask& task, GlueSplit split, const GlueFile& file) const {
  SequenceBuilder builder(*tokenizer_, config_.data.max_length);
  const GlueSequences sequences(read_glue(glue_folder(glue_, task) / file.name, task, split), task, builder);
  if (sequences.cut() > 0) {
    spdlog::info("{} {}: {} of {} examples are longer than {} tokens, and cut", task.title, file.name, sequences.cut(),
                 sequences.size(), config_.data.max_length);
  }
  return sequences;
}

GlueTaskData Finetuning::data_of(const GlueTask& task) const {
  GlueTaskData data{.task = &task,
                    .train = sequences(task, GlueSplit::train, task.train[0]),
                    .dev = {},
                    .padding_id = padding_id_,
                    .tokenizer = tokenizer_->hash()};
  for (const auto& file : task.dev) data.dev.push_back(sequences(task, GlueSplit::dev, file));
  return data;
}

fs::path Finetuning::folder_of(const GlueTask& task, int64_t seed) const {
  const auto name = starts_from_mnli(task) ? fmt::format("{}_from_mnli", task.name) : std::string(task.name);
  return out_ / name / fmt::format("seed_{}", seed);
}

FinetuneStart Finetuning::start_of(const GlueTask& task, int64_t seed) const {
  if (!starts_from_mnli(task)) {
    FinetuneStart start = start_;
    if (head_) add_imported_head(*head_, task, start.tensors);
    return start;
  }
  const fs::path folder = folder_of(glue_task(kMnli), seed) / kBestModel;
  const CheckpointFolder checkpoints(folder);
  const auto steps = checkpoints.steps();
  if (steps.empty()) {
    throw RunError(
        fmt::format("{}: no model: fine-tuning on MNLI diverged before its first evaluation", folder.string()));
  }
  FinetuneStart start{.name = std::string(kMnli), .text = {}, .model = start_.model, .tensors = {}};
  start.tensors = checkpoints.read_model(steps.back()).tensors;
  std::erase_if(start.tensors, [](const auto& item) { return item.first.starts_with("head_"); });
  start.text = fmt::format("step {} on MNLI, {}", steps.back(), checksum_of(start.tensors));
  return start;
}

FinetuneRunConfig Finetuning::config_of(const GlueTask& task, const FinetuneStart& start, const std::string& data,
                                        int64_t seed) const {
  FinetuneRunConfig config{.model = start.model,
                           .glue = {.task = std::string(task.name), .start = start.text, .data = data},
                           .recipe = config_};
  config.recipe.train.seed = seed;
  return config;
}

bool Finetuning::run_task(const GlueTask& task, const StopSignal& stop, FinetuneOutcome& outcome) {
  const GlueTaskData data = data_of(task);
  TaskResult result{.task = std::string(task.name),
                    .start = starts_from_mnli(task) ? std::string(kMnli) : start_.name,
                    .majority = {},
                    .examples = {data.train.size()},
                    .cut = {data.train.cut()},
                    .seeds = {}};
  for (size_t i = 0; i < data.dev.size(); ++i) {
    const auto scores = majority_scores(task, data.train.labels(), data.dev[i].labels(), task.dev[i].suffix);
    result.majority.insert(result.majority.end(), scores.begin(), scores.end());
    result.examples.push_back(data.dev[i].size());
    result.cut.push_back(data.dev[i].cut());
  }
  const std::string checksums = checksums_of(data);
  for (int64_t i = 0; i < options_.seeds; ++i) {
    const int64_t seed = config_.train.seed + i;
    const FinetuneStart start = start_of(task, seed);
    const auto seed_result = finetune_seed(
        config_of(task, start, checksums, seed), start, data,
        {.folder = folder_of(task, seed), .version = options_.version, .terminal = options_.terminal, .stop = &stop});
    if (!seed_result) return false;
    result.seeds.push_back(*seed_result);
  }
  outcome.results.push_back(std::move(result));
  return true;
}

void Finetuning::write_results(const FinetuneOutcome& outcome) const {
  write_file(out_ / "results.json", finetune_json(outcome.title, outcome.results).dump(2) + "\n");
  write_file(out_ / "results.md", finetune_table(outcome.title, outcome.results));
}

void Finetuning::submit_task(const GlueTask& task, const GlueTask& model_task, const TaskResult& result) const {
  const auto best = best_seed(result);
  if (!best) {
    spdlog::warn("{}: no seed has a model to predict with", model_task.title);
    return;
  }
  const int64_t seed = result.seeds[*best].seed;
  const CheckpointFolder checkpoints(folder_of(model_task, seed) / kBestModel);
  const auto steps = checkpoints.steps();
  if (steps.empty()) throw RunError(fmt::format("{}: its model is gone", folder_of(model_task, seed).string()));
  const auto source = checkpoints.path_of(steps.back()).string();
  const auto device = find_device(config_.train.device);
  Classifier model =
      glue_model(start_.model, config_.head, model_task, checkpoints.read_model(steps.back()).tensors, source);
  model->to(device);
  for (const auto& file : task.test) {
    const GlueSequences examples = sequences(task, GlueSplit::test, file);
    const auto predicted = predict_glue(*model, examples, config_.train.eval_batch, padding_id_, device);
    write_file(options_.submit / file.submission, submission_text(task, examples.indices(), predicted));
    spdlog::info("{}: {} predictions of seed {}", (options_.submit / file.submission).string(), examples.size(), seed);
  }
}

void Finetuning::submit(const FinetuneOutcome& outcome) const {
  for (const auto& result : outcome.results) {
    const GlueTask& task = glue_task(result.task);
    submit_task(task, task, result);
    if (const GlueTask& ax = glue_task(kAx); task.name == kMnli && has_folder(ax)) submit_task(ax, task, result);
  }
  std::vector<std::string_view> missing;
  std::error_code ignored;
  for (const auto& task : glue_tasks()) {
    for (const auto& file : task.test) {
      if (!fs::exists(options_.submit / file.submission, ignored)) missing.push_back(file.submission);
    }
  }
  if (!missing.empty()) spdlog::warn("the leaderboard also wants {}", fmt::join(missing, ", "));
}

FinetuneOutcome Finetuning::run() {
  if (config_.train.seed > std::numeric_limits<int64_t>::max() - options_.seeds) {
    throw UserError(fmt::format("train.seed is {}: with --seeds {} the last one would be too large", config_.train.seed,
                                options_.seeds));
  }
  choose_tasks();
  load_start();
  limit_length();
  check_mnli();
  read_all_files();
  if (!options_.submit.empty()) make_folder(options_.submit);
  set_threads_or_warn(config_.train.threads);
  const auto device = find_device(config_.train.device);
  const auto precision = choose_precision(config_.train.precision, traits_of(device)).precision;
  if (const auto setup = set_up_device(device, precision); !setup.empty()) spdlog::info("{}", setup);
  make_folder(out_);
  FinetuneOutcome outcome;
  outcome.title = {.run = options_.run.string(), .block = start_.model.block, .recipe = options_.recipe, .seeds = {}};
  for (int64_t i = 0; i < options_.seeds; ++i) outcome.title.seeds.push_back(config_.train.seed + i);
  const StopSignal stop;
  for (const auto* task : tasks_) {
    if (!run_task(*task, stop, outcome)) {
      outcome.signal = stop.received();
      return outcome;
    }
    write_results(outcome);
  }
  if (!options_.submit.empty()) submit(outcome);
  return outcome;
}

}  // namespace

FinetuneOutcome finetune(FinetuneConfig config, const FinetuneOptions& options) {
  return Finetuning(std::move(config), options).run();
}

}  // namespace skipless
