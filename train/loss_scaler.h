// The scale of the loss in fp16, whose gradients would otherwise round to zero. All on the device; the host waits for
// nothing.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <string>

namespace skipless {

/// Starts at 2^16. After a step whose gradient was not finite, which is skipped, the scale is halved; after 2,000 good
/// steps in a row it is doubled.
class LossScaler {
 public:
  static constexpr double kStart = 65'536;
  static constexpr double kGrowth = 2;
  static constexpr double kBackoff = 0.5;
  static constexpr int64_t kGrowthInterval = 2'000;
  /// A run is beyond help after this many skipped steps in a row, or below this scale.
  static constexpr int64_t kMostSkipsInARow = 50;
  static constexpr double kLeastScale = 1;

  explicit LossScaler(at::Device device);

  /// Float32 scalar.
  const at::Tensor& scale() const { return scale_; }
  /// After each step; `is_bad`: bool scalar, the step was skipped because its gradient was not finite.
  void update(const at::Tensor& is_bad);
  /// Bool scalar: the run is beyond help.
  at::Tensor collapsed() const;
  /// Steps skipped since the start of the run. Waits for the device.
  int64_t skipped() const { return skipped_.item<int64_t>(); }

  /// "loss_scale.scale", ".good_steps", ".skips_in_a_row" and ".skipped". The tensors are the scaler's own.
  std::map<std::string, at::Tensor> state() const;
  /// Copies values into state(). UserError naming the first tensor that differs (module_state.h).
  void load(const std::map<std::string, at::Tensor>& saved, const std::string& source);

 private:
  at::Tensor scale_;           // float32
  at::Tensor good_steps_;      // int32, since the scale last changed
  at::Tensor skips_in_a_row_;  // int64
  at::Tensor skipped_;         // int64
};

/// Takes the tensors of a scaler out of `tensors`.
std::map<std::string, at::Tensor> extract_loss_scale(std::map<std::string, at::Tensor>& tensors);

}  // namespace skipless
