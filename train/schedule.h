// The learning rate of every optimizer step, as a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "configs/schema.h"

namespace skipless {

enum class ScheduleKind { linear, cosine, constant };
std::span<const EnumName<ScheduleKind>> enum_names(ScheduleKind);

enum class WarmupRule { from_first_step, from_zero };
std::span<const EnumName<WarmupRule>> enum_names(WarmupRule);

struct ScheduleConfig {
  double lr = 1e-3;
  double lr_end = 0;
  ScheduleKind schedule = ScheduleKind::linear;
  std::optional<int64_t> warmup_steps;
  std::optional<double> warmup_fraction;  // default 0.05, unless warmup_steps is given
  WarmupRule warmup_rule = WarmupRule::from_first_step;

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems, int64_t steps) const;
  /// Steps of the warm-up in a run of `steps`: the fraction is rounded up, as the paper's code does.
  int64_t n_warmup(int64_t steps) const;
};

/// Rate of step `step` (from 0) of `steps`, with W = n_warmup(steps):
///   step < W:  lr * (step + 1) / (W + 1), or by from_zero, Hugging Face's rule, lr * step / W (0 at the first step);
///   else, with p = (step - W) / (steps - W):
///     linear:   lr_end + (lr - lr_end) * (1 - p)
///     cosine:   lr_end + (lr - lr_end) * (1 + cos(pi * p)) / 2
///     constant: lr
/// From `steps` on p is 1.
double learning_rate(const ScheduleConfig& config, int64_t steps, int64_t step);

}  // namespace skipless
