#include "data/prefetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <exception>
#include <utility>

#include "configs/error.h"

namespace skipless {

Prefetcher::Prefetcher(std::int64_t row_length, std::int64_t first, std::int64_t ahead, Fill fill, Place place)
    : row_length_(row_length),
      ahead_(ahead),
      fill_(std::move(fill)),
      place_(std::move(place)),
      ring_(static_cast<std::size_t>(row_length * ahead)),
      made_(first),
      taken_(first) {
  assert(row_length > 0 && first >= 0 && ahead > 0);
  thread_ = std::thread([this] { make_rows(); });
}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

/// The slots of up to `most` rows from `row` on that lie side by side.
std::span<std::int64_t> Prefetcher::slots(std::int64_t row, std::int64_t most) {
  const std::int64_t slot = row % ahead_;
  const std::int64_t rows = std::min(most, ahead_ - slot);
  return std::span(ring_).subspan(static_cast<std::size_t>(slot * row_length_),
                                  static_cast<std::size_t>(rows * row_length_));
}

void Prefetcher::make_rows() {
  constexpr std::int64_t kAtOnce = 16;
  while (true) {
    std::span<std::int64_t> out;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || made_ - taken_ < ahead_; });
      if (stopped_) return;
      out = slots(made_, std::min(kAtOnce, ahead_ - (made_ - taken_)));
    }
    std::int64_t rows = 0;
    std::exception_ptr fault;
    try {
      // Row by row, so that the one at fault is known.
      for (; rows * row_length_ < static_cast<std::int64_t>(out.size()); ++rows) {
        fill_(made_ + rows,
              out.subspan(static_cast<std::size_t>(rows * row_length_), static_cast<std::size_t>(row_length_)));
      }
    } catch (...) {
      fault = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    made_ += rows;
    fault_ = fault;
    changed_.notify_all();
    if (fault_) return;
  }
}

void Prefetcher::take(std::span<std::int64_t> out) {
  assert(static_cast<std::int64_t>(out.size()) % row_length_ == 0);
  const auto start = std::chrono::steady_clock::now();
  while (!out.empty()) {
    std::span<std::int64_t> ready;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return made_ > taken_ || fault_; });
      if (made_ == taken_) break;
      ready = slots(taken_, std::min(made_ - taken_, static_cast<std::int64_t>(out.size()) / row_length_));
    }
    std::copy(ready.begin(), ready.end(), out.begin());
    out = out.subspan(ready.size());
    const std::lock_guard lock(mutex_);
    taken_ += static_cast<std::int64_t>(ready.size()) / row_length_;
    changed_.notify_all();
  }
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (out.empty()) return;
  const std::string place = place_(taken_);
  try {
    std::rethrow_exception(fault_);
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", place, error.what()));
  } catch (const std::exception& error) {
    throw RunError(fmt::format("{}: {}", place, error.what()));
  }
}

}  // namespace skipless
