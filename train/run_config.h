// A training run's whole config: model, data, training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "configs/schema.h"
#include "data/chunk_kind.h"
#include "data/masking_config.h"
#include "models/model_config.h"
#include "train/adamw.h"
#include "train/budget.h"
#include "train/peak_rates.h"
#include "train/precision.h"
#include "train/schedule.h"

namespace skipless {

struct DataConfig {
  std::string folder;
  ChunkKind chunking = ChunkKind::documents;
  MaskingConfig masking;  // of a model that predicts masked tokens

  /// `is_masked`: whether the model predicts masked tokens.
  void keys(Schema& s, bool is_masked);
  void check(Problems& problems, const ModelConfig& model, bool is_masked) const;
};

struct TrainConfig : BudgetConfig, BatchConfig {
  ScheduleConfig schedule;
  PeakRates lr_of;
  OptimizerConfig optimizer;
  double clip_norm = 1;
  Precision precision = Precision::fp32;
  int64_t seed = 0;
  int64_t data_seed = 0;
  int64_t eval_every = 500;
  int64_t eval_tokens = 262'144;
  int64_t save_every = 500;
  int64_t keep_checkpoints = 2;
  bool recompute = false;
  int64_t log_every = 10;
  int64_t stats_every = 0;
  bool tensorboard = true;
  std::string device = "cpu";
  int64_t threads = 0;

  void keys(Schema& s);
  void resolve(const ModelConfig& model);
  void check(Problems& problems, const ModelConfig& model) const;
};

struct RunConfig {
  ModelConfig model;
  DataConfig data;
  TrainConfig train;

  /// Whether the model predicts masked tokens: a masked language model.
  bool is_masked() const;
  /// The share of the tokens that it predicts.
  double predicted_share() const { return is_masked() ? data.masking.rate : 1; }

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems) const;
};

/// Whether a run may be continued under another value of this key ("train.log_every"): keys that change what is
/// watched, kept, or where the work is done, but not what is computed.
bool may_change_between_runs(const std::string& key_path);

}  // namespace skipless
