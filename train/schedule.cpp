#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace skipless {

std::span<const EnumName<ScheduleKind>> enum_names(ScheduleKind) {
  static constexpr std::array<EnumName<ScheduleKind>, 4> kNames{{{ScheduleKind::linear, "linear"},
                                                                 {ScheduleKind::cosine, "cosine"},
                                                                 {ScheduleKind::constant, "constant"},
                                                                 {ScheduleKind::triangle, "triangle"}}};
  return kNames;
}

std::span<const EnumName<WarmupRule>> enum_names(WarmupRule) {
  static constexpr std::array<EnumName<WarmupRule>, 2> kNames{
      {{WarmupRule::from_first_step, "from_first_step"}, {WarmupRule::from_zero, "from_zero"}}};
  return kNames;
}

void ScheduleConfig::keys(Schema& s) {
  s.key("lr", lr, Range<double>::between(0, 1000),
        "learning rate at the end of the warm-up, or peak of the triangle; empty: that of lr_of");
  s.key("lr_end", lr_end, Range<double>::between(0, 1000), "learning rate at the end of a linear or cosine schedule");
  s.key("schedule", schedule,
        "how the rate falls from lr to lr_end after the warm-up; triangle: from lr/4 up to lr at 75 % of the budget, "
        "then down to 0");
  s.key("warmup_steps", warmup_steps, Range<int64_t>::at_least(0), "steps in which the rate rises to lr");
  s.key("warmup_fraction", warmup_fraction, Range<double>::between(0, 1),
        "the same as a fraction of the budget, rounded up to whole steps; empty: 0.05, unless warmup_steps is given or "
        "the schedule is the triangle");
  s.key("warmup_rule", warmup_rule,
        "from_first_step: the first rate is lr/(warmup+1); from_zero: it is 0, as in Hugging Face's schedules");
}

void ScheduleConfig::resolve(double peak) {
  if (!lr) lr = peak;
  if (!warmup_steps && !warmup_fraction) warmup_fraction = schedule == ScheduleKind::triangle ? 0 : 0.05;
}

void ScheduleConfig::check(Problems& problems) const {
  if (warmup_steps && warmup_fraction) {
    problems.add("warmup_fraction", "warmup_steps is given too; leave one of the two out");
  }
  if (lr_end > lr) problems.add("lr_end", fmt::format("lr_end {} is larger than lr {}", lr_end, *lr));
  if (schedule != ScheduleKind::triangle) return;
  if (warmup_steps.value_or(0) > 0) problems.add("warmup_steps", "the triangle is its own warm-up: leave it out, or 0");
  if (warmup_fraction.value_or(0) > 0) {
    problems.add("warmup_fraction", "the triangle is its own warm-up: leave it out, or 0");
  }
  if (lr_end > 0) problems.add("lr_end", "the triangle ends at 0: leave it out, or 0");
}

double learning_rate(const ScheduleConfig& config, const SchedulePosition& position) {
  const auto& [done, total, warmup, step] = position;
  const double lr = *config.lr;
  if (done < warmup) {
    return config.warmup_rule == WarmupRule::from_zero ? lr * done / warmup : lr * (done + step) / (warmup + step);
  }
  const double p = done >= total ? 1 : (done - warmup) / (total - warmup);
  const double fall = lr - config.lr_end;
  switch (config.schedule) {
    case ScheduleKind::linear:
      return config.lr_end + fall * (1 - p);
    case ScheduleKind::cosine:
      return config.lr_end + fall * (1 + std::cos(std::numbers::pi * p)) / 2;
    case ScheduleKind::triangle:
      return lr * std::min(0.25 + p, 4 - 4 * p);
    case ScheduleKind::constant:
      break;
  }
  return lr;
}

double rounded_warmup(double fraction, double total, double step) {
  if (step == 0) return fraction * total;
  // 0.07 * 100 is a little above 7 in binary; what is meant is 7.
  constexpr double kRounding = 1e-9;
  return std::ceil(fraction * total / step - kRounding) * step;
}

}  // namespace skipless
