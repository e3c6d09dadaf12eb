#include "train/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "configs/printable.h"
#include "train/device.h"

namespace skipless {

void DataConfig::keys(Schema& s, bool is_masked) {
  s.key("folder", folder, "folder that 'skipless prepare' wrote");
  s.key("chunking", chunking,
        "how documents become sequences: cut each by itself (as the paper), or one stream with end-of-text tokens");
  s.section("masking", masking, "which tokens a model of kind bert has to predict", /*written=*/is_masked);
}

void DataConfig::check(Problems& problems, const ModelConfig& model, bool is_masked) const {
  if (folder.empty()) problems.add("folder", "is needed: the folder that 'skipless prepare' wrote");
  if (is_masked) {
    // round(0.5) is 0.
    if (masking.rule == MaskingRule::exact && masking.rate * static_cast<double>(model.context_length) <= 0.5) {
      problems.add("masking.rate", fmt::format("{} of a sequence of {} tokens (model.context_length) is less than one",
                                               masking.rate, model.context_length));
    }
    return;
  }
  const MaskingConfig none;
  const auto refuse = [&](bool is_given, std::string_view key) {
    if (!is_given) return;
    problems.add(key, fmt::format("model.kind is {}, which predicts every token: masking is for model.kind bert",
                                  name_of(model.kind)));
  };
  refuse(masking.rate != none.rate, "masking.rate");
  refuse(masking.rule != none.rule, "masking.rule");
  refuse(masking.exclude_special != none.exclude_special, "masking.exclude_special");
}

void TrainConfig::keys(Schema& s) {
  const auto count = Range<int64_t>::between(1, 1'000'000'000);
  const auto every = Range<int64_t>::between(0, 1'000'000'000);
  BudgetConfig::keys(s);
  BatchConfig::keys(s);
  schedule.keys(s);
  s.section("lr_of", lr_of, "peak learning rates that a recipe brings for each block, where lr is empty",
            /*written=*/false);
  optimizer.keys(s);
  s.key("clip_norm", clip_norm, Range<double>::between(0, 1e9), "largest global norm of the gradient; 0: no clipping");
  s.key("recompute", recompute,
        "blocks keep their input alone and run forward again for their backward: less memory, a third more time");
  s.key("precision", precision,
        "of matrix products; fp16: with a loss scale; bf16: from compute capability 8.0 on, and on processors with "
        "AVX512-BF16 or AMX; auto: what is fast on the device");
  s.key("seed", seed, Range<int64_t>::at_least(0), "of the model's initial values");
  s.key("data_seed", data_seed, Range<int64_t>::at_least(0), "of the order of the training data");
  s.key("eval_every", eval_every, every, "steps between evaluations, and one at the end; 0: none");
  s.key("eval_tokens", eval_tokens, count,
        "validation tokens of an evaluation: always the same, evenly over the shard");
  s.key("save_every", save_every, every, "steps between checkpoints, and one at the end; 0: at the end alone");
  s.key("keep_checkpoints", keep_checkpoints, Range<int64_t>::between(1, 1'000'000),
        "newest checkpoints that are kept, beside the best one");
  s.key("log_every", log_every, count, "steps between lines of metrics.jsonl");
  s.key("stats_every", stats_every, every,
        "steps between lines of every layer's gains, entropy, activations and gradients, and one at the start and the "
        "end; 0: none");
  s.key("tensorboard", tensorboard, "write event files for TensorBoard into the run's folder");
  s.key("device", device, "cpu, cuda or cuda:N");
  s.key("threads", threads, Range<int64_t>::between(0, 4096), "CPU threads; 0: as many as there are cores");
}

void TrainConfig::resolve(const ModelConfig& model) {
  BudgetConfig::resolve();
  BatchConfig::resolve();
  schedule.resolve(lr_of.of(model));
}

void TrainConfig::check(Problems& problems, const ModelConfig& model) const {
  BudgetConfig::check(problems);
  BatchConfig::check(problems);
  schedule.check(problems);
  if (steps && schedule.warmup_steps.value_or(0) > *steps) {
    problems.add("warmup_steps", fmt::format("a warm-up of {} steps is longer than the run's {} steps",
                                             *schedule.warmup_steps, *steps));
  }
  if (hours && schedule.warmup_steps) {
    problems.add("warmup_steps", "how long a step takes is not known before; with 'hours', give warmup_fraction");
  }
  if (eval_every > 0 && eval_tokens < model.context_length) {
    problems.add("eval_tokens", fmt::format("{} tokens are fewer than one sequence (model.context_length {})",
                                            eval_tokens, model.context_length));
  }
  if (!is_device_name(device))
    problems.add("device", fmt::format("{} is not one of cpu, cuda, cuda:N", in_quotes(device)));
}

bool RunConfig::is_masked() const {
  return model.kind == ModelKind::bert;
}

void RunConfig::keys(Schema& s) {
  struct DataSection {
    DataConfig& data;
    bool is_masked;
    void keys(Schema& schema) { data.keys(schema, is_masked); }
  };
  s.section("model", model, "the model");
  DataSection section{data, is_masked()};
  s.section("data", section, "what it is trained on");
  s.section("train", train, "how it is trained");
}

void RunConfig::resolve() {
  model.resolve();
  train.resolve(model);
}

void RunConfig::check(Problems& problems) const {
  problems.within("model", [&](Problems& p) { model.check(p); });
  problems.within("data", [&](Problems& p) { data.check(p, model, is_masked()); });
  problems.within("train", [&](Problems& p) { train.check(p, model); });
}

bool may_change_between_runs(const std::string& key_path) {
  // data.folder: the data themselves are compared by their checksum (CheckpointState::train_data).
  static constexpr std::array<std::string_view, 13> kFree{
      "data.folder",      "train.micro_batch", "train.recompute",   "train.precision",        "train.eval_every",
      "train.save_every", "train.log_every",   "train.stats_every", "train.keep_checkpoints", "train.tensorboard",
      "train.device",     "train.threads",     "train.eval_batch"};
  return std::find(kFree.begin(), kFree.end(), key_path) != kFree.end();
}

}  // namespace skipless
