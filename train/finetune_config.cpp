#include "train/finetune_config.h"

#include <fmt/format.h>

#include "configs/printable.h"
#include "train/device.h"

namespace skipless {

namespace {

constexpr double kPeak = 1.5e-4;  // the paper's

}  // namespace

void FinetuneDataConfig::keys(Schema& s) {
  s.key("folder", folder, "folder of the GLUE tasks; --glue and SKIPLESS_GLUE say it too");
  s.key("max_length", max_length, Range<int64_t>::between(8, 1'000'000),
        "longest sequence in tokens; what is longer is cut, and counted");
}

void FinetuneTrainConfig::keys(Schema& s) {
  const auto count = Range<int64_t>::between(1, 1'000'000'000);
  const auto sequences = Range<int64_t>::between(1, 1'000'000);
  s.key("epochs", epochs, Range<double>{.low = 0, .high = 1e6, .low_open = true},
        "passes over the training set; the last batch of each may be smaller");
  s.key("batch_size", batch_size, sequences, "sequences per optimizer step");
  s.key("micro_batch", micro_batch, sequences,
        "sequences per forward pass; their gradients add up to one step of batch_size; empty: batch_size");
  schedule.keys(s);
  optimizer.keys(s);
  s.key("clip_norm", clip_norm, Range<double>::between(0, 1e9), "largest global norm of the gradient; 0: no clipping");
  s.key("dropout", dropout, Range<double>::from_below(0, 1), "of embedding, attention, sub-blocks and head");
  s.key("precision", precision, "of matrix products: fp32, fp16, bf16, or auto: what is fast on the device");
  s.key("recompute", recompute,
        "blocks keep their input alone and run forward again for their backward: less memory, a third more time");
  s.key("seed", seed, Range<int64_t>::at_least(0), "of the head, the order and dropout: the first of the seeds");
  s.key("eval_batch", eval_batch, sequences, "sequences per forward pass of an evaluation");
  s.key("save_every", save_every, Range<int64_t>::between(0, 1'000'000'000),
        "steps between checkpoints, beside those at the end of each epoch; 0: those alone");
  s.key("log_every", log_every, count, "steps between lines of metrics.jsonl");
  s.key("device", device, "cpu, cuda or cuda:N");
  s.key("threads", threads, Range<int64_t>::between(0, 4096), "CPU threads; 0: as many as there are cores");
}

void FinetuneTrainConfig::resolve() {
  if (!micro_batch) micro_batch = batch_size;
  if (!schedule.warmup_steps && !schedule.warmup_fraction && schedule.schedule != ScheduleKind::triangle) {
    schedule.warmup_fraction = 0.1;
  }
  schedule.resolve(kPeak);
}

void FinetuneTrainConfig::check(Problems& problems) const {
  if (*micro_batch > batch_size) {
    problems.add("micro_batch",
                 fmt::format("{} sequences are more than the batch_size of {}", *micro_batch, batch_size));
  }
  schedule.check(problems);
  if (!is_device_name(device)) {
    problems.add("device", fmt::format("{} is not one of cpu, cuda, cuda:N", in_quotes(device)));
  }
}

TrainConfig FinetuneTrainConfig::train_config(int64_t steps) const {
  TrainConfig config;
  config.steps = steps;
  config.batch_size = batch_size;
  config.micro_batch = micro_batch;
  config.schedule = schedule;
  config.optimizer = optimizer;
  config.clip_norm = clip_norm;
  config.precision = precision;
  config.recompute = recompute;
  config.seed = seed;
  config.log_every = log_every;
  config.device = device;
  config.threads = threads;
  return config;
}

void FinetuneConfig::keys(Schema& s) {
  s.section("data", data, "where the tasks are, and how long a sequence may be");
  s.section("head", head, "what stands on the encoder");
  s.section("train", train, "how it is fine-tuned");
}

void FinetuneConfig::resolve() {
  train.resolve();
}

void FinetuneConfig::check(Problems& problems) const {
  problems.within("train", [&](Problems& p) { train.check(p); });
}

void GlueRunConfig::keys(Schema& s) {
  s.key("task", task, "the task");
  s.key("start", start, "what the encoder's values were before");
  s.key("data", data, "checksums of the examples, as token ids with labels");
}

void FinetuneRunConfig::keys(Schema& s) {
  s.section("model", model, "the encoder");
  s.section("glue", glue, "what it is fine-tuned for");
  recipe.keys(s);
}

void FinetuneRunConfig::resolve() {
  model.resolve();
  recipe.resolve();
}

void FinetuneRunConfig::check(Problems& problems) const {
  problems.within("model", [&](Problems& p) { model.check(p); });
  recipe.check(problems);
}

}  // namespace skipless
