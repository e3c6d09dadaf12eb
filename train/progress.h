// What a person sees while a run goes on: a bar that is rewritten in place on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace skipless {

/// How far a run is.
struct Position {
  int64_t step = 0;
  int64_t steps = 0;    // in all; 0: not known, in a budget of hours
  double fraction = 0;  // of the budget
  double seconds_left = 0;
};

struct StepReport {
  Position position;
  double loss = 0;
  double tokens_per_second = 0;
  double ms_per_step = 0;                                  // median
  int64_t peak_memory = 0;                                 // bytes
  std::optional<double> flops_utilisation = std::nullopt;  // 0..1; nothing where it is not known
};

/// "1:02:03", "2:03"
std::string clock_text(double seconds);
/// "step 20/100  loss 5.1230  4,321 tokens/s  85.1 ms/step  MFU 31.4 %  0.52 GB  ETA 0:07"; with the number of steps
/// not known "step 20 (31.2 %)  loss ...", and where the utilisation is not known "MFU n/a".
std::string progress_text(const StepReport& report);
/// The same in at most `width` columns, behind a bar "[#####-----]" where there is room for one, and without what
/// stands between ms/step and ETA where there is not.
std::string progress_bar(const StepReport& report, int width);

class Progress {
 public:
  /// `terminal`: whether standard output is one.
  explicit Progress(bool terminal) : terminal_(terminal) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// New figures: a line of the log, or the bar.
  void report(const StepReport& report);
  /// Another step is done: moves the bar on, a few times a second.
  void advance(const Position& position);
  /// Takes the bar off the screen, so that something else can be printed.
  void clear();

 private:
  void draw();

  bool terminal_;
  bool drawn_ = false;
  StepReport last_;
  std::chrono::steady_clock::time_point drawn_at_{};
};

}  // namespace skipless
