// Where the time of a piece of work goes, operation by operation.
#pragma once

#include <string>
#include <vector>

namespace skipless {

struct OpTime {
  std::string section;  // the outermost RECORD_USER_SCOPE: "forward", "backward", ... ; "" outside of all
  std::string name;     // "aten::mm"
  double milliseconds = 0;
  int64_t calls = 0;
};

/// While it lives, LibTorch tells it of every operation on this thread, where the CPU's backward pass runs too. An
/// operation's time is its own, without that of the operations it calls. On a CUDA device it is the host's.
class OpTimes {
 public:
  OpTimes();
  ~OpTimes();
  OpTimes(const OpTimes&) = delete;
  OpTimes& operator=(const OpTimes&) = delete;

  /// So far, the longest first.
  std::vector<OpTime> times() const;

 private:
  uint64_t handle_;
};

}  // namespace skipless
