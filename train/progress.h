// What a person sees while a run goes on: a bar that is rewritten in place on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace skipless {

struct StepReport {
  int64_t step = 0;
  double loss = 0;
  double tokens_per_second = 0;
  double ms_per_step = 0;
};

/// "1:02:03", "2:03"
std::string clock_text(double seconds);
/// "step 20/100  loss 5.123  4,321 tokens/s  85.1 ms/step  ETA 0:07"
std::string progress_text(const StepReport& report, int64_t steps);
/// The same in at most `width` columns, behind a bar "[#####-----]" where there is room for one.
std::string progress_bar(const StepReport& report, int64_t steps, int width);

class Progress {
 public:
  /// `terminal`: whether standard output is one.
  Progress(int64_t steps, bool terminal) : steps_(steps), terminal_(terminal) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// New figures: a line of the log, or the bar.
  void report(const StepReport& report);
  /// Another step is done: moves the bar on, a few times a second.
  void advance(int64_t step);
  /// Takes the bar off the screen, so that something else can be printed.
  void clear();

 private:
  void draw();

  int64_t steps_;
  bool terminal_;
  bool drawn_ = false;
  StepReport last_;
  std::chrono::steady_clock::time_point drawn_at_{};
};

}  // namespace skipless
