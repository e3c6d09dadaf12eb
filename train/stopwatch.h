// Time spent in training steps, without what comes between them.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace skipless {

/// Seconds since some fixed moment.
using Clock = std::function<double()>;

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Stopwatch {
 public:
  explicit Stopwatch(Clock now) : now_(std::move(now)) {}

  void start() { started_ = now_(); }
  void stop() { total_ += now_() - started_; }
  /// Of all the times between start() and stop().
  double seconds() const { return total_; }
  void set(double seconds) { total_ = seconds; }

 private:
  Clock now_;
  double total_ = 0;
  double started_ = 0;
};

}  // namespace skipless
