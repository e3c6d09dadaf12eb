// The checkpoints of a run: folders "step_000020" that appear whole or not at all, and are checked when they are read.
//   model.safetensors      parameters and buffers by name; its metadata hold the config, so that it stands alone
//   optimizer.safetensors  the optimizer's state by parameter, and the generators of random numbers ("rng.cpu")
//   state.json             the rest (TrainingState), sizes and checksums of the other two, and its own checksum
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/safetensors.h"
#include "train/budget.h"

namespace skipless {

struct BestLoss {
  int64_t step = 0;
  double loss = 0;
};

struct TrainingState {
  int64_t step = 0;                       // optimizer steps done
  int64_t sequences = 0;                  // trained on: the items of ChunkBatches before this one
  int64_t tokens = 0;                     // trained on
  double seconds = 0;                     // spent in training steps
  bool done = false;                      // the budget is spent
  bool on_cuda = false;                   // the step was done on a CUDA device
  std::string precision = "fp32";         // in which it was done
  std::string train_data;                 // checksum of the training shard
  std::string tokenizer;                  // hash
  std::optional<double> validation_loss;  // when it was measured at this very step
  std::optional<BestLoss> best;           // of all evaluations so far
  // Since the last line of metrics.jsonl, so that the next line is the same with and without a stop in between.
  double window_loss = 0;
  int64_t window_tokens = 0;
};

inline BudgetSpent spent(const TrainingState& state) {
  return {.steps = state.step, .sequences = state.sequences, .seconds = state.seconds};
}

struct Checkpoint {
  TrainingState state;
  TensorFile model;
  TensorFile optimizer;
};

class CheckpointFolder {
 public:
  /// Reads nothing yet; the folder need not exist.
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Steps that have a checkpoint, ascending, good or not. UserError when something else than a folder is in the place
  /// of the checkpoints' folder, or when it cannot be read.
  std::vector<int64_t> steps() const;
  std::filesystem::path path_of(int64_t step) const;
  std::filesystem::path optimizer_file(int64_t step) const;

  /// Writes to "step_N.tmp", syncs, renames. Only then removes older checkpoints, all but the `keep` newest and the one
  /// with the lowest validation_loss. What AtomicFile throws passes through; the older checkpoints are then untouched.
  void save(const Checkpoint& checkpoint, int64_t keep) const;

  /// UserError in one line when anything is missing, cut or changed: file, size, and which older checkpoint is good.
  Checkpoint read(int64_t step) const;
  TensorFile read_model(int64_t step) const;
  TrainingState read_state(int64_t step) const;

  /// The newest good one, if there is any checkpoint at all. What is wrong with a newer one is told to `warn`, and that
  /// one set aside as "step_N.corrupt". UserError if none is good.
  std::optional<Checkpoint> read_newest(const std::function<void(const std::string&)>& warn) const;

  /// The one with the lowest validation_loss, if one has any.
  std::optional<int64_t> best_step() const;

  /// Removes what an interrupted save left behind.
  void remove_leftovers() const;

 private:
  /// Throws UserError if a file of the checkpoint is not what was written.
  void check_files(int64_t step) const;
  Checkpoint read_checked(int64_t step) const;
  /// "; step_000010 of the same folder can be used"
  std::string instead_of(int64_t step) const;
  void remove_older(int64_t keep) const;

  std::filesystem::path folder_;
};

}  // namespace skipless
