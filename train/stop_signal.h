// SIGINT and SIGTERM as a question that the training loop asks between steps.
#pragma once

#include <csignal>

namespace skipless {

/// While this lives, the first SIGINT or SIGTERM is only noted. A second one ends the program at once, as if this did
/// not exist.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The signal's number, 0 when none has come.
  int received() const;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

}  // namespace skipless
