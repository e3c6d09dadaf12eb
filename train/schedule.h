// The learning rate of every optimizer step, as a pure function of where the run stands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "configs/schema.h"

namespace skipless {

enum class ScheduleKind { linear, cosine, constant, triangle };
std::span<const EnumName<ScheduleKind>> enum_names(ScheduleKind);

enum class WarmupRule { from_first_step, from_zero };
std::span<const EnumName<WarmupRule>> enum_names(WarmupRule);

struct ScheduleConfig {
  std::optional<double> lr;
  double lr_end = 0;
  ScheduleKind schedule = ScheduleKind::linear;
  std::optional<int64_t> warmup_steps;
  std::optional<double> warmup_fraction;  // default 0.05, unless warmup_steps is given; of a triangle 0
  WarmupRule warmup_rule = WarmupRule::from_first_step;

  void keys(Schema& s);
  /// `peak`: lr where the user left it empty.
  void resolve(double peak);
  void check(Problems& problems) const;
};

/// Where a run stands in its budget before a step. All four in one unit, that of the budget: steps, sequences or
/// seconds.
struct SchedulePosition {
  double done = 0;
  double total = 1;
  double warmup = 0;  // the first part of `total`
  double step = 1;    // what the coming step takes of it
};

/// Rate of the step after `done`:
///   done < warmup:  lr * (done + step) / (warmup + step), or by from_zero, Hugging Face's rule, lr * done / warmup (0
///   at
///                   the first step);
///   else, with p = (done - warmup) / (total - warmup):
///     linear:   lr_end + (lr - lr_end) * (1 - p)
///     cosine:   lr_end + (lr - lr_end) * (1 + cos(pi * p)) / 2
///     constant: lr
///     triangle: lr * min(0.25 + p, 4 - 4p): from a quarter of lr up to lr at three quarters, then down to 0 (PAPER.md,
///               section 3)
/// From `total` on p is 1.
double learning_rate(const ScheduleConfig& config, const SchedulePosition& position);

/// `fraction` of `total`, rounded up to whole multiples of `step` (0: not rounded), as the paper's code does.
double rounded_warmup(double fraction, double total, double step);

}  // namespace skipless
