// What changes from optimizer step to optimizer step without being trained: interpolations, feedback.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace skipless {

/// A module that is one too is found by TransformerImpl::begin_step and end_step, in whatever block it sits. Its state
/// lies in buffers, so that it is saved, and a resumed run goes on from it.
class StepFollower {
 public:
  virtual ~StepFollower() = default;
  /// Before the first micro-batch of optimizer step `step` (from 0).
  virtual void begin_step(int64_t step) = 0;
  /// After the last one. `skipped`: scalar on the device, not 0 where the optimizer changes nothing at this step.
  virtual void end_step(const at::Tensor& skipped) = 0;
};

}  // namespace skipless
