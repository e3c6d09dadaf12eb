// skipless finetune: a pre-trained run, fine-tuned on tasks of GLUE with several seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "train/finetune_config.h"
#include "train/finetune_report.h"
#include "train/finetune_result.h"

namespace skipless {

struct FinetuneOptions {
  std::filesystem::path run;        // of a pre-trained encoder
  std::string checkpoint = "last";  // load_run.h
  std::string tokenizer;            // run_tokenizer.h
  std::vector<std::string> model;   // "model.key.path=value": what of the run's model is another one in fine-tuning
  std::vector<std::string> tasks;   // names, or "all": the paper's, as far as the folder has them
  std::string recipe;               // its name
  int64_t seeds = 1;
  std::filesystem::path out;     // empty: RUN/finetune/RECIPE
  bool untrained = false;        // begin with the model's own first values
  bool from_mnli = false;        // RTE, STS-B and MRPC begin with the model fine-tuned on MNLI
  std::filesystem::path submit;  // empty: no predictions
  std::string version;           // content of version.json
  bool terminal = false;
};

struct FinetuneOutcome {
  FinetuneTitle title;
  std::vector<TaskResult> results;
  int signal = 0;  // that stopped it, after a checkpoint was saved
};

/// Fine-tunes task after task and seed after seed, each in a folder of its own below `out`; what is done already is not
/// done again. After each task writes results.json and results.md into `out`; at the end, if asked for, the files of
/// the leaderboard into `submit`.
///
/// All files of all tasks are read before the first step, so that UserErrors come then: files (glue.h), a run that is
/// no encoder, a tokenizer that is not the model's, MNLI missing for `from_mnli`, test files missing for `submit`.
FinetuneOutcome finetune(FinetuneConfig config, const FinetuneOptions& options);

}  // namespace skipless
