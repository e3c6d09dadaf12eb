// Times of a config's training step, block by block in alternating rounds, and of its matrix products alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/bench/op_times.h"
#include "train/run_config.h"

namespace skipless {

/// A config under the name that a table shows.
struct BenchCase {
  std::string name;
  RunConfig config;
  double padding = 0;  // share of a batch's tokens, at the ends of sequences of different lengths; an encoder's
};

struct BenchResult {
  std::string name;
  int64_t parameters = 0;
  int64_t tokens = 0;         // of a step
  int64_t peak_bytes = 0;     // of three steps, above what there was before the model
  std::vector<double> step;   // milliseconds, of each round the median step
  std::vector<double> floor;  // milliseconds of a step's matrix products, of each round
  std::string floor_by;       // the library that makes them
  double floor_flops = 0;     // floating-point operations of a step's matrix products
};

/// The steps are the trainer's own (Learner), at a learning rate that hardly moves the weights, on random tokens that
/// lie in memory. All cases are on the device and in the precision of the first one.
class StepBench {
 public:
  /// Builds all models and takes a few steps with each. `steps`: of a round, for each case. UserError where a batch is
  /// not whole micro-batches, or is padded and the model is none that reads padding.
  StepBench(const std::vector<BenchCase>& cases, int64_t steps);
  ~StepBench();
  StepBench(const StepBench&) = delete;
  StepBench& operator=(const StepBench&) = delete;

  /// Times each case once more, one after the other.
  void round();
  std::vector<BenchResult> results() const;
  /// One step of each case, operation by operation.
  std::vector<std::vector<OpTime>> profile();

 private:
  class Contender;

  int64_t steps_;
  std::vector<std::unique_ptr<Contender>> contenders_;
};

}  // namespace skipless
