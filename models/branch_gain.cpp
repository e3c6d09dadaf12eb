#include "models/branch_gain.h"

#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

namespace skipless {

void FeedbackConfig::keys(Schema& s) {
  // What float32 holds, with room for a product; 0 would never leave 0 again.
  const Range<double> positive{.low = 0, .high = 1e30, .low_open = true};
  s.key("power", power, Range<double>::from_below(0, 2),
        "k: after each step gain <- clip(gain * (target/rms)^k, low, high), rms of gain * sub-block; 0: off");
  s.key("target", target, positive, "rms aimed at; empty: the rms at the first step");
  s.key("low", low, positive, "smallest gain");
  s.key("high", high, positive, "largest gain");
}

void BranchGainConfig::keys(Schema& s) {
  GainConfig::keys(s);
  s.section("feedback", feedback, "the gain follows the rms of its branch instead of being trained");
}

void BranchGainConfig::resolve(double default_init, bool default_trainable) {
  GainConfig::resolve(default_init, default_trainable && feedback.power == 0);
}

void BranchGainConfig::check(Problems& problems, std::string_view section) const {
  if (feedback.power == 0) return;
  problems.within(section, [&](Problems& p) {
    if (*trainable) p.add("trainable", "is true, but feedback.power sets the gain: trained or adjusted, not both");
    if (feedback.low > feedback.high) {
      p.add("feedback.low", fmt::format("{} is above feedback.high {}", feedback.low, feedback.high));
    } else if (*init < feedback.low || *init > feedback.high) {
      p.add("init",
            fmt::format("{} is not between feedback.low {} and feedback.high {}", *init, feedback.low, feedback.high));
    }
  });
}

BranchGainImpl::BranchGainImpl(const BranchGainConfig& config)
    : GainImpl(config, /*n_head=*/0, /*changes=*/config.feedback.power > 0), feedback_(config.feedback) {
  if (feedback_.power == 0) return;
  const auto scalar = [](double value) { return at::full({}, value, at::kDouble); };
  sum_ = register_buffer("feedback_sum", scalar(0));
  count_ = register_buffer("feedback_count", scalar(0));
  target_ = register_buffer("feedback_target", scalar(feedback_.target.value_or(0)));
}

torch::Tensor BranchGainImpl::forward(const torch::Tensor& branch, const AttentionMask& mask) {
  auto added = GainImpl::forward(branch);
  if (sum_.defined() && is_training() && !mask.recomputing) measure(added, mask.kept);
  return added;
}

void BranchGainImpl::measure(const torch::Tensor& added, const torch::Tensor& kept) {
  const c10::NoGradGuard no_grad;
  auto squares = added.square().sum(at::IntArrayRef{-1}, /*keepdim=*/false, at::kDouble);  // [B, T]
  if (kept.defined()) {
    squares = squares.masked_fill(kept.logical_not(), 0);
    count_.add_(kept.sum() * added.size(-1));
  } else {
    count_.add_(added.numel());
  }
  sum_.add_(squares.sum());
}

void BranchGainImpl::begin_step(int64_t) {
  if (!sum_.defined()) return;
  sum_.zero_();
  count_.zero_();
}

void BranchGainImpl::end_step(const torch::Tensor& skipped) {
  if (!sum_.defined()) return;
  const c10::NoGradGuard no_grad;
  const auto rms = (sum_ / count_).sqrt();
  const auto usable = skipped.eq(0).logical_and(rms.gt(0)).logical_and(at::isfinite(rms));
  target_.copy_(at::where(usable.logical_and(target_.eq(0)), rms, target_));
  const auto adjusted = (value() * (target_ / rms).pow(feedback_.power)).clamp(feedback_.low, feedback_.high);
  value().copy_(at::where(usable, adjusted, value()));
}

}  // namespace skipless
