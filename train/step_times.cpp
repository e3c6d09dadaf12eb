#include "train/step_times.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <vector>

#include "train/device.h"
#include "train/quartiles.h"

namespace skipless {

namespace {

constexpr size_t kMost = 1000;

}  // namespace

c10::Event StepTimes::mark() const {
  c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);  // the flag whose events know their time
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  return event;
}

void StepTimes::begin() {
  if (!device_.is_cuda()) return;
  auto now = mark();
  marks_.emplace_back(std::move(now), c10::Event(device_.type(), c10::EventFlag::BACKEND_DEFAULT));
  if (marks_.size() > kMost) marks_.pop_front();
}

void StepTimes::end(double host_seconds) {
  if (device_.is_cuda()) {
    marks_.back().second = mark();
    return;
  }
  milliseconds_.push_back(1000 * host_seconds);
  if (milliseconds_.size() > kMost) milliseconds_.pop_front();
}

double StepTimes::take_median() {
  std::vector<double> values(milliseconds_.begin(), milliseconds_.end());
  synchronize(device_);
  for (const auto& [begin, end] : marks_) {
    if (end.was_marked_for_recording()) values.push_back(begin.elapsedTime(end));  // not so for a step that failed
  }
  milliseconds_.clear();
  marks_.clear();
  return values.empty() ? 0 : quartiles_of(std::move(values)).median;
}

}  // namespace skipless
