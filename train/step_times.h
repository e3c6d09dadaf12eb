// How long the single steps took, for their median: a mean is spoilt by one that was held up.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <deque>
#include <utility>

namespace skipless {

/// Of the newest 1,000 steps at most. On a CUDA device a step is what lies between two events in its stream, for the
/// host only hands out work and waits for nothing; on the CPU it is the host's own time.
class StepTimes {
 public:
  explicit StepTimes(c10::Device device) : device_(device) {}

  /// Where a step's work begins, and where it ends, which took the host so many seconds.
  void begin();
  void end(double host_seconds);
  /// Milliseconds; of an even number of steps the mean of the two in the middle, and 0 without any. Forgets the steps.
  /// Waits for the device.
  double take_median();

 private:
  c10::Event mark() const;

  c10::Device device_;
  std::deque<double> milliseconds_;                      // CPU
  std::deque<std::pair<c10::Event, c10::Event>> marks_;  // CUDA: begin and end
};

}  // namespace skipless
