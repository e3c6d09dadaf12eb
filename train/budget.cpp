#include "train/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "configs/error.h"

namespace skipless {

namespace {

constexpr double kSecondsPerHour = 3600;

/// Whole sequences for a number that need not be whole; 0.1 * 30 is a little above 3 in binary, what is meant is 3.
int64_t rounded_up(double value) {
  constexpr double kRounding = 1e-9;
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(value * (1 - kRounding))));
}

int64_t divided_up(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace

void BudgetConfig::keys(Schema& s) {
  s.key("steps", steps, Range<int64_t>::between(1, 1'000'000'000),
        "optimizer steps: the budget, or one of the next three instead; empty: 1000, unless another is given");
  s.key("tokens", tokens, Range<int64_t>::between(1, 1'000'000'000'000'000),
        "budget in tokens, rounded up to whole sequences; the last step takes what is left");
  s.key("epochs", epochs, Range<double>{.low = 0, .high = 1e6, .low_open = true},
        "budget in passes over the training data, rounded up to whole sequences; the last step takes what is left");
  s.key("hours", hours, Range<double>{.low = 0, .high = 1e6, .low_open = true},
        "budget in hours spent in training steps; evaluation, saving and the time while stopped come on top");
}

void BudgetConfig::resolve() {
  if (!steps && !tokens && !epochs && !hours) steps = 1000;
}

void BudgetConfig::check(Problems& problems) const {
  std::string given;
  const auto add = [&](bool is_given, std::string_view key) {
    if (!is_given) return;
    if (!given.empty()) {
      problems.add(
          key, fmt::format("a run has one budget, and {} is given too; 'train.{}=null' takes it away", given, given));
    }
    if (given.empty()) given = key;
  };
  add(steps.has_value(), "steps");
  add(tokens.has_value(), "tokens");
  add(epochs.has_value(), "epochs");
  add(hours.has_value(), "hours");
}

void BatchConfig::keys(Schema& s) {
  const auto sequences = Range<int64_t>::between(1, 1'000'000);
  s.key("batch_size", batch_size, sequences, "sequences per optimizer step");
  s.key("micro_batch", micro_batch, sequences,
        "sequences per forward pass; their gradients add up to one step of batch_size; empty: batch_size");
  s.key(
      "batch_start", batch_start, sequences,
      "sequences of the first steps of a batch-size ramp; the batch grows by multiples of it to batch_size; empty: no "
      "ramp");
  s.key("batch_ramp", batch_ramp, Range<double>{.low = 0, .high = 1, .low_open = true},
        "fraction of the budget at which the ramp reaches batch_size; empty: no ramp");
}

void BatchConfig::resolve() {
  if (!micro_batch) micro_batch = batch_size;
}

void BatchConfig::check(Problems& problems) const {
  const auto within_batch = [&](std::string_view key, int64_t sequences) {
    if (sequences <= batch_size) return;
    problems.add(key, fmt::format("{} sequences are more than the batch_size of {}", sequences, batch_size));
  };
  within_batch("micro_batch", *micro_batch);
  within_batch("batch_start", batch_start.value_or(1));
  if (batch_start && !batch_ramp) problems.add("batch_ramp", "is needed with batch_start: where the ramp ends");
  if (batch_ramp && !batch_start) problems.add("batch_start", "is needed with batch_ramp: where the ramp begins");
}

BudgetPlan::BudgetPlan(const BudgetConfig& budget, const BatchConfig& batch, const ScheduleConfig& schedule,
                       int64_t context_length, int64_t chunks)
    : budget_(budget), batch_(batch), schedule_(schedule) {
  if (budget.hours) {
    unit_ = Unit::seconds;
    total_ = *budget.hours * kSecondsPerHour;
    warmup_ = rounded_warmup(schedule.warmup_fraction.value_or(0), total_, 0);
    return;
  }
  unit_ = budget.steps ? Unit::steps : Unit::sequences;
  if (budget.steps) {
    total_ = static_cast<double>(*budget.steps);
  } else if (budget.tokens) {
    total_ = static_cast<double>(divided_up(*budget.tokens, context_length));
  } else {
    total_ = static_cast<double>(rounded_up(*budget.epochs * static_cast<double>(chunks)));
  }
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  const BudgetSpent all = after(kAll, kAll);
  steps_ = all.steps;
  sequences_ = all.sequences;
  if (schedule.warmup_steps.value_or(0) > all.steps) {
    throw UserError(fmt::format("train.warmup_steps: a warm-up of {} steps is longer than the run's {} steps",
                                *schedule.warmup_steps, all.steps));
  }
  if (schedule.warmup_steps) {
    warmup_ = done(after(*schedule.warmup_steps, kAll));
  } else {
    const double warmup = rounded_warmup(schedule.warmup_fraction.value_or(0), total_, 1);
    warmup_ = done(after(kAll, static_cast<int64_t>(warmup)));
  }
}

double BudgetPlan::done(const BudgetSpent& spent) const {
  switch (unit_) {
    case Unit::steps:
      return static_cast<double>(spent.steps);
    case Unit::sequences:
      return static_cast<double>(spent.sequences);
    case Unit::seconds:
      break;
  }
  return spent.seconds;
}

double BudgetPlan::fraction(const BudgetSpent& spent) const {
  return std::min(1.0, done(spent) / total_);
}

bool BudgetPlan::is_spent(const BudgetSpent& spent) const {
  return done(spent) >= total_;
}

int64_t BudgetPlan::batch_at(double fraction) const {
  const int64_t batch = batch_.batch_size;
  if (!batch_.batch_start) return batch;
  const int64_t start = *batch_.batch_start;
  // In binary, whole multiples can come out a little below what is meant.
  constexpr double kRounding = 1e-9;
  const double reached = std::min(1.0, fraction / *batch_.batch_ramp);
  const double multiples = reached * static_cast<double>(batch) / static_cast<double>(start);
  return std::min(batch, start * (static_cast<int64_t>(multiples + kRounding) + 1));
}

int64_t BudgetPlan::next_batch(const BudgetSpent& spent) const {
  const int64_t batch = batch_at(fraction(spent));
  return unit_ == Unit::sequences ? std::min(batch, static_cast<int64_t>(total_) - spent.sequences) : batch;
}

double BudgetPlan::learning_rate(const BudgetSpent& spent) const {
  constexpr double kFirstStep = 1e-3;  // of the warm-up
  double step = 1;
  if (unit_ == Unit::sequences) step = static_cast<double>(next_batch(spent));
  if (unit_ == Unit::seconds) {
    step = spent.steps == 0 ? kFirstStep * warmup_ : spent.seconds / static_cast<double>(spent.steps);
  }
  return skipless::learning_rate(schedule_, {.done = done(spent), .total = total_, .warmup = warmup_, .step = step});
}

BudgetSpent BudgetPlan::after(int64_t steps, int64_t least) const {
  const bool by_steps = unit_ == Unit::steps;
  const auto total = static_cast<int64_t>(total_);
  const int64_t end = std::min(least, total);
  BudgetSpent spent;
  for (int64_t now = 0; spent.steps < steps && now < end; now = by_steps ? spent.steps : spent.sequences) {
    const int64_t batch = next_batch(spent);
    const auto later = [&](int64_t n) {
      return BudgetSpent{.steps = spent.steps + n, .sequences = spent.sequences + n * batch};
    };
    // A ramp can have more steps than can be walked through one by one: all of the same batch at once. There is at
    // least one; the most is found by bisection, as the batch never shrinks before the last step, which is one alone.
    int64_t alike = 1;
    int64_t most = by_steps ? end - now : std::min(divided_up(end - now, batch), (total - now) / batch);
    most = std::min(most, steps - spent.steps);
    while (alike < most) {
      const int64_t middle = most - (most - alike) / 2;
      if (batch_at(fraction(later(middle - 1))) == batch) {
        alike = middle;
      } else {
        most = middle - 1;
      }
    }
    spent = later(alike);
  }
  return spent;
}

double BudgetPlan::seconds_left(const BudgetSpent& spent, double sequences_per_second) const {
  if (unit_ == Unit::seconds) return std::max(0.0, total_ - spent.seconds);
  return static_cast<double>(std::max<int64_t>(0, sequences_ - spent.sequences)) / sequences_per_second;
}

std::string BudgetPlan::text() const {
  if (budget_.hours) return fmt::format("{} hours", *budget_.hours);
  if (budget_.steps) return fmt::format("{} steps", *budget_.steps);
  return budget_.tokens ? fmt::format("{} tokens ({} steps)", *budget_.tokens, *steps_)
                        : fmt::format("{} epochs ({} steps)", *budget_.epochs, *steps_);
}

}  // namespace skipless
