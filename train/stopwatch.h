// Time spent in training steps, without what comes between them.
#pragma once

#include <chrono>

namespace skipless {

class Stopwatch {
 public:
  void start() {
    started_ = Clock::now();
    running_ = true;
  }
  void stop() {
    total_ = seconds();
    running_ = false;
  }
  double seconds() const {
    return running_ ? total_ + std::chrono::duration<double>(Clock::now() - started_).count() : total_;
  }
  void set(double seconds) { total_ = seconds; }

 private:
  using Clock = std::chrono::steady_clock;
  double total_ = 0;
  bool running_ = false;
  Clock::time_point started_;
};

}  // namespace skipless
