// What a section says, in Markdown on standard output, and whether it has passed.
#pragma once

#include <string>

#include "tests/parity/comparison.h"

namespace skipless::device {

class Report {
 public:
  void line(const std::string& text) const;
  /// One thing that must hold.
  void require(bool holds, const std::string& what);
  /// All measures of a comparison, as one row each of a table that table() began.
  void compared(const std::string& what, const parity::Comparison& comparison);
  void table() const;

  bool passed() const { return n_failed_ == 0; }
  int n_failed() const { return n_failed_; }

 private:
  int n_failed_ = 0;
};

}  // namespace skipless::device
