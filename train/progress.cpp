#include "train/progress.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "train/grouped.h"

namespace skipless {

namespace {

/// A terminal that is gone is no reason to stop.
void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string clock_text(double seconds) {
  const auto s = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

namespace {

std::string text_of(const StepReport& report, const std::string& more) {
  const auto& [step, steps, fraction, seconds_left] = report.position;
  const std::string place =
      steps > 0 ? fmt::format("{}/{}", step, steps) : fmt::format("{} ({:.1f} %)", step, 100 * fraction);
  const auto loss = std::isnan(report.loss) ? std::string("n/a") : fmt::format("{:.4f}", report.loss);
  return fmt::format("step {}  loss {}  {} tokens/s  {:.1f} ms/step{}  ETA {}", place, loss,
                     grouped(report.tokens_per_second), report.ms_per_step, more, clock_text(seconds_left));
}

}  // namespace

std::string progress_text(const StepReport& report) {
  const auto utilisation =
      report.flops_utilisation ? fmt::format("{:.1f} %", 100 * *report.flops_utilisation) : std::string("n/a");
  return text_of(report,
                 fmt::format("  MFU {}  {:.2f} GB", utilisation, static_cast<double>(report.peak_memory) / 1e9));
}

std::string progress_bar(const StepReport& report, int width) {
  constexpr int64_t kMostCells = 20, kFewestCells = 5, kAround = 3;
  std::string text = progress_text(report);
  if (static_cast<int64_t>(text.size()) + kFewestCells + kAround > width) text = text_of(report, "");
  const int64_t cells = std::min(kMostCells, width - static_cast<int64_t>(text.size()) - kAround);
  if (cells >= kFewestCells) {
    const int64_t full =
        std::clamp<int64_t>(static_cast<int64_t>(report.position.fraction * static_cast<double>(cells)), 0, cells);
    text = fmt::format("[{:#<{}}{:-<{}}] {}", "", full, "", cells - full, text);
  }
  if (text.size() > static_cast<size_t>(width)) text.resize(static_cast<size_t>(width));
  return text;
}

void Progress::report(const StepReport& report) {
  last_ = report;
  if (terminal_) {
    draw();
  } else {
    spdlog::info("{}", progress_text(report));
  }
}

void Progress::advance(const Position& position) {
  constexpr auto kPause = std::chrono::milliseconds(200);
  const bool known = last_.position.step > 0;
  if (!terminal_ || !known || std::chrono::steady_clock::now() - drawn_at_ < kPause) return;
  last_.position = position;
  draw();
}

void Progress::draw() {
  put(fmt::format("\r\x1b[K{}", progress_bar(last_, std::max(1, terminal_width() - 1))));
  drawn_ = true;
  drawn_at_ = std::chrono::steady_clock::now();
}

void Progress::clear() {
  if (!drawn_) return;
  put("\r\x1b[K");
  drawn_ = false;
}

}  // namespace skipless
