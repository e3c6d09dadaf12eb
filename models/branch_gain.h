// The gain of a sub-block's output, alpha_res of X + alpha_res * SubBlock(X): fixed, trained, or adjusted from
// feedback.
#pragma once

#include <torch/nn/pimpl.h>

#include <string_view>

#include "models/gain.h"
#include "models/shaped_attention.h"
#include "models/step_follower.h"

namespace skipless {

/// After every optimizer step, g <- clip(g * (target / rms)^power, low, high), where rms is that of g * SubBlock(X),
/// the branch as it is added, over the step's real tokens. rms is proportional to g, so that the distance of log(rms)
/// from log(target) shrinks by the factor |1 - power| each step: below 1 for 0 < power < 2.
struct FeedbackConfig {
  double power = 0;              // 0: off
  std::optional<double> target;  // empty: the rms at the first step
  double low = 1e-3;
  double high = 1e3;

  void keys(Schema& s);
};

struct BranchGainConfig : GainConfig {
  FeedbackConfig feedback;

  void keys(Schema& s);
  /// A gain under feedback is not trained by default.
  void resolve(double default_init, bool default_trainable);
  void check(Problems& problems, std::string_view section) const;
};

/// A Gain that, with feedback, is a buffer and measures what it lets through.
///
/// Measured in training mode alone, and once per forward pass: not again where a block is recomputed for its backward.
/// Micro-batches add up, and so would ranks: `feedback_sum` (of squares) and `feedback_count` (of values) are plain
/// sums. A step that the optimizer skips, or whose rms is 0 or not finite, changes nothing; with target empty, the
/// first rms that is neither becomes `feedback_target` (0 until then). No gradient flows through any of it.
class BranchGainImpl : public GainImpl, public StepFollower {
 public:
  explicit BranchGainImpl(const BranchGainConfig& config);

  /// g * branch, [B, T, D]
  torch::Tensor forward(const torch::Tensor& branch, const AttentionMask& mask);

  bool is_measured() const override { return sum_.defined(); }

  void begin_step(int64_t step) override;
  void end_step(const torch::Tensor& skipped) override;

 private:
  void measure(const torch::Tensor& added, const torch::Tensor& kept);

  FeedbackConfig feedback_;
  torch::Tensor sum_, count_, target_;  // float64 scalars; only with feedback
};
TORCH_MODULE(BranchGain);

}  // namespace skipless
