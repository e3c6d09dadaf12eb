// How a pre-trained encoder is fine-tuned: one set of values for all tasks (a recipe), and the config of one run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "configs/schema.h"
#include "models/classifier.h"
#include "models/model_config.h"
#include "train/run_config.h"

namespace skipless {

struct FinetuneDataConfig {
  std::optional<std::string> folder;  // of all tasks
  int64_t max_length = 128;           // tokens of a sequence

  void keys(Schema& s);
};

struct FinetuneTrainConfig {
  double epochs = 5;
  int64_t batch_size = 32;
  std::optional<int64_t> micro_batch;                         // default batch_size
  ScheduleConfig schedule{.schedule = ScheduleKind::cosine};  // to a peak of 1.5e-4
  OptimizerConfig optimizer{.beta2 = 0.98, .eps = 1e-6, .weight_decay = 0};
  double clip_norm = 0;
  double dropout = 0.1;  // of embedding, attention, sub-blocks and head
  Precision precision = Precision::fp32;
  bool recompute = false;
  int64_t seed = 0;  // of the first of the seeds
  int64_t eval_batch = 64;
  int64_t save_every = 1000;
  int64_t log_every = 10;
  std::string device = "cpu";
  int64_t threads = 0;

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems) const;
  /// The same in the terms of pre-training, for `steps` steps.
  TrainConfig train_config(int64_t steps) const;
};

/// A recipe: what configs/finetune_*.yaml hold.
struct FinetuneConfig {
  FinetuneDataConfig data;
  ClassifierConfig head;
  FinetuneTrainConfig train;

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems) const;
};

/// What a task's run starts from and is for.
struct GlueRunConfig {
  std::string task;
  std::string start;  // "run step 1000 <checksum of its tensors>", "mnli ...", "untrained"
  std::string data;   // checksums of the examples as the model reads them: "train 0123... dev 4567..."

  void keys(Schema& s);
};

/// One run: config.yaml of its folder.
struct FinetuneRunConfig {
  ModelConfig model;  // as it is fine-tuned: with dropout
  GlueRunConfig glue;
  FinetuneConfig recipe;

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems) const;
};

}  // namespace skipless
