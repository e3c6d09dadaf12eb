// Fine-tuning for one task with one seed, in a folder of its own: from the start or from its last checkpoint to its end
// or to a signal.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/glue_sequences.h"
#include "models/classifier.h"
#include "train/finetune_config.h"
#include "train/finetune_result.h"
#include "train/stop_signal.h"

namespace skipless {

/// What the encoder is before fine-tuning.
struct FinetuneStart {
  std::string name;  // TaskResult::start
  std::string text;  // GlueRunConfig::start
  ModelConfig model;
  /// By the names of the model's tensors; empty: its own first values.
  std::map<std::string, at::Tensor> tensors;
};

/// A task's examples, for all its seeds.
struct GlueTaskData {
  const GlueTask* task = nullptr;
  GlueSequences train;
  std::vector<GlueSequences> dev;  // as task->dev
  int64_t padding_id = 0;
  std::string tokenizer;  // hash
};

/// Where a run is, and who watches it.
struct FinetunePlace {
  std::filesystem::path folder;
  std::string version;  // content of version.json
  bool terminal = false;
  const StopSignal* stop = nullptr;
};

/// The model of a run: the encoder of `config` with a head for `task`, trunk and (where the names are the same) head
/// from `tensors`, the rest drawn from LibTorch's default generator. UserError when a tensor of the trunk is missing or
/// of another shape; `source` is whose tensors they are.
Classifier glue_model(const ModelConfig& config, const ClassifierConfig& head, const GlueTask& task,
                      const std::map<std::string, at::Tensor>& tensors, const std::string& source);

/// `model` as it is fine-tuned: with this dropout, and without an identity start, which is over.
ModelConfig finetuned_config(ModelConfig model, double dropout);

/// The folder, below that of a run, that holds the model of its best evaluation once it is done.
inline constexpr const char* kBestModel = "best";

/// The examples of step `step` (from 0): of epoch e the next batch_size in the order Permutation(size, mix(seed, e)),
/// and at its end what is left.
std::vector<int64_t> glue_rows(int64_t size, int64_t batch_size, int64_t seed, int64_t step);

/// Trains, and evaluates on the whole dev set after each epoch.
///
/// Nothing when the signal of `place.stop` ended it, after a checkpoint. A run that is done gives its result at once. A
/// loss or gradient that is not finite ends the training, and is part of the result. On one CPU with the same number of
/// threads, a run that was stopped and continued ends in the same bits as an unbroken one.
///
/// UserError: a folder that cannot be used, a run of another config or other data. RunError: files that could not be
/// written at the end.
std::optional<SeedResult> finetune_seed(const FinetuneRunConfig& config, const FinetuneStart& start,
                                        const GlueTaskData& data, const FinetunePlace& place);

}  // namespace skipless
