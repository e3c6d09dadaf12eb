#include "train/schedule.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

namespace skipless {

std::span<const EnumName<ScheduleKind>> enum_names(ScheduleKind) {
  static constexpr std::array<EnumName<ScheduleKind>, 3> kNames{
      {{ScheduleKind::linear, "linear"}, {ScheduleKind::cosine, "cosine"}, {ScheduleKind::constant, "constant"}}};
  return kNames;
}

std::span<const EnumName<WarmupRule>> enum_names(WarmupRule) {
  static constexpr std::array<EnumName<WarmupRule>, 2> kNames{
      {{WarmupRule::from_first_step, "from_first_step"}, {WarmupRule::from_zero, "from_zero"}}};
  return kNames;
}

void ScheduleConfig::keys(Schema& s) {
  s.key("lr", lr, Range<double>::between(0, 1000), "learning rate at the end of the warm-up");
  s.key("lr_end", lr_end, Range<double>::between(0, 1000), "learning rate at the end of a linear or cosine schedule");
  s.key("schedule", schedule, "how the rate falls from lr to lr_end after the warm-up");
  s.key("warmup_steps", warmup_steps, Range<int64_t>::at_least(0), "steps in which the rate rises to lr");
  s.key("warmup_fraction", warmup_fraction, Range<double>::between(0, 1),
        "the same as a fraction of all steps, rounded up; empty: 0.05, unless warmup_steps is given");
  s.key("warmup_rule", warmup_rule,
        "from_first_step: the first rate is lr/(warmup+1); from_zero: it is 0, as in Hugging Face's schedules");
}

void ScheduleConfig::resolve() {
  if (!warmup_steps && !warmup_fraction) warmup_fraction = 0.05;
}

void ScheduleConfig::check(Problems& problems, int64_t steps) const {
  if (warmup_steps && warmup_fraction) {
    problems.add("warmup_fraction", "warmup_steps is given too; leave one of the two out");
  }
  if (warmup_steps && *warmup_steps > steps) {
    problems.add("warmup_steps",
                 fmt::format("a warm-up of {} steps is longer than the run's {} steps", *warmup_steps, steps));
  }
  if (lr_end > lr) problems.add("lr_end", fmt::format("lr_end {} is larger than lr {}", lr_end, lr));
}

int64_t ScheduleConfig::n_warmup(int64_t steps) const {
  if (warmup_steps) return *warmup_steps;
  // 0.07 * 100 is a little above 7 in binary; what is meant is 7.
  constexpr double kRounding = 1e-9;
  return static_cast<int64_t>(std::ceil(warmup_fraction.value_or(0) * static_cast<double>(steps) - kRounding));
}

double learning_rate(const ScheduleConfig& config, int64_t steps, int64_t step) {
  const int64_t warmup = config.n_warmup(steps);
  if (step < warmup) {
    return config.warmup_rule == WarmupRule::from_zero
               ? config.lr * static_cast<double>(step) / static_cast<double>(warmup)
               : config.lr * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  }
  if (config.schedule == ScheduleKind::constant) return config.lr;
  const double fall = config.lr - config.lr_end;
  if (step >= steps) return config.lr_end;
  const double progress = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  return config.lr_end +
         fall *
             (config.schedule == ScheduleKind::linear ? 1 - progress : (1 + std::cos(std::numbers::pi * progress)) / 2);
}

}  // namespace skipless
