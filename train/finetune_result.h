// What came out of fine-tuning: of one seed, and of a task over its seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "eval/glue_score.h"

namespace skipless {

/// A step after which loss or gradient were not finite; training ended there.
struct Divergence {
  int64_t step = 0;
  std::string tensor;  // the first one that is not finite
};

/// One task with one seed. Scores are of the whole dev set.
struct SeedResult {
  int64_t seed = 0;
  int64_t steps = 0;
  double seconds = 0;  // in training steps
  /// After the last step; empty when the run diverged.
  std::vector<GlueScore> last;
  /// Of the evaluation at the end of an epoch with the best first score; empty when none was a number.
  std::vector<GlueScore> best;
  int64_t best_step = 0;
  std::optional<Divergence> divergence;
};

nlohmann::ordered_json to_json(const SeedResult& result);
/// UserError, "FILE: ...", for what to_json does not write.
SeedResult read_seed_result(const std::filesystem::path& file);

/// A score over the seeds. NaN in one of them makes all three NaN: half a spread is none.
struct Spread {
  double mean = 0;
  double deviation = 0;  // of the sample, with n - 1; NaN for one seed
  double median = 0;
};
Spread spread_of(const std::vector<double>& values);

struct TaskResult {
  std::string task;
  std::string start;                // what it was trained from: "run", "mnli" or "untrained"
  std::vector<GlueScore> majority;  // of the commonest label
  std::vector<int64_t> examples;    // train, then each dev file
  std::vector<int64_t> cut;         // of them, longer than the longest sequence
  std::vector<SeedResult> seeds;
};

enum class Reported { last, best };

/// The score `name` of every seed; NaN where it has none.
std::vector<double> values_of(const TaskResult& result, Reported which, const std::string& name);
/// The seed whose best evaluation is the best one; nothing when no seed has any.
std::optional<size_t> best_seed(const TaskResult& result);

/// The mean of the paper's nine numbers, or of those that there are.
struct Average {
  std::vector<std::string> of;       // "MNLI accuracy_m"
  std::vector<std::string> missing;  // of the nine
  Spread spread;                     // of the seeds' own means
  std::vector<double> seeds;

  bool is_complete() const { return missing.empty(); }
};
/// Over the seeds that all tasks have.
Average average_of(const std::vector<TaskResult>& results, Reported which);

}  // namespace skipless
