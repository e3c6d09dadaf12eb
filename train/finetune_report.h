// The results of fine-tuning as JSON and as a table beside the paper's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/finetune_result.h"

namespace skipless {

/// What was fine-tuned, and how.
struct FinetuneTitle {
  std::string run;     // its folder
  std::string block;   // "sas"
  std::string recipe;  // "paper"
  std::vector<int64_t> seeds;
};

/// Everything: each seed, mean, standard deviation and median, baselines, the average and what it lacks. What is not a
/// number is null.
nlohmann::ordered_json finetune_json(const FinetuneTitle& title, const std::vector<TaskResult>& results);

/// Markdown: the nine columns of the paper's Table 2 in per cent, its rows and ours (mean and standard deviation over
/// the seeds) after the last epoch and at the best one; then every score of every task.
std::string finetune_table(const FinetuneTitle& title, const std::vector<TaskResult>& results);

}  // namespace skipless
