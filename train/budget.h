// How long a run goes on, and with how many sequences a step: steps, tokens, epochs or hours, and the batch-size ramp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "configs/schema.h"
#include "train/schedule.h"

namespace skipless {

/// Exactly one of the four is set once resolved.
struct BudgetConfig {
  std::optional<int64_t> steps;  // default 1000, if none is given
  std::optional<int64_t> tokens;
  std::optional<double> epochs;
  std::optional<double> hours;

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems) const;
};

struct BatchConfig {
  int64_t batch_size = 32;
  std::optional<int64_t> micro_batch;  // default batch_size
  std::optional<int64_t> batch_start;
  std::optional<double> batch_ramp;

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems) const;
};

/// What a run has behind it. `seconds` is the time spent in training steps: what comes between them (evaluation,
/// saving) and the time while the run was stopped do not count.
struct BudgetSpent {
  int64_t steps = 0;
  int64_t sequences = 0;
  double seconds = 0;
};

/// The plan of a run: of every step its number of sequences and its learning rate, as a pure function of what is spent.
///
/// Both follow the fraction x = done/total of the budget before the step, in steps under `steps`, in sequences under
/// `tokens` and `epochs`, in seconds under `hours`. A step that was skipped (fp16) has spent its sequences all the
/// same.
///   sequences: batch_size, or with the ramp, which is Cramming's, S = batch_start:
///     min(batch_size, S * (1 + floor(min(1, x / batch_ramp) * batch_size / S)))
///   the last step of `tokens` and `epochs` takes no more than what is left.
/// The warm-up ends with a step: with the first one that reaches its fraction of the budget.
/// The time of a step is known only afterwards: for the warm-up of `hours` a step is as long as the mean of those
/// before it, and the first one a thousandth of the warm-up.
class BudgetPlan {
 public:
  /// `chunks`: sequences of an epoch. UserError when the warm-up is longer than the run.
  BudgetPlan(const BudgetConfig& budget, const BatchConfig& batch, const ScheduleConfig& schedule,
             int64_t context_length, int64_t chunks);

  bool is_spent(const BudgetSpent& spent) const;
  int64_t next_batch(const BudgetSpent& spent) const;
  double learning_rate(const BudgetSpent& spent) const;

  /// 0..1
  double fraction(const BudgetSpent& spent) const;
  /// Steps in all; nothing under `hours`.
  std::optional<int64_t> steps() const { return steps_; }
  /// Seconds of training still to come, at this speed.
  double seconds_left(const BudgetSpent& spent, double sequences_per_second) const;
  /// "43000 steps", "0.5 epochs (1200 steps)", "24 hours"
  std::string text() const;

 private:
  enum class Unit { steps, sequences, seconds };

  double done(const BudgetSpent& spent) const;
  /// Sequences of a step at this fraction of the budget, were it not for the end of the budget.
  int64_t batch_at(double fraction) const;
  /// After the first `steps` steps, or as many of them as come to `least` steps or sequences, whichever the budget
  /// counts (not hours), or as the budget holds.
  BudgetSpent after(int64_t steps, int64_t least) const;

  BudgetConfig budget_;
  BatchConfig batch_;
  ScheduleConfig schedule_;
  Unit unit_ = Unit::steps;
  double total_ = 0;
  double warmup_ = 0;
  std::optional<int64_t> steps_;
  int64_t sequences_ = 0;  // in all; 0 under `hours`
};

}  // namespace skipless
