// Rows of training data, made by a thread of their own before they are asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace skipless {

/// Rows come from one sequence (ChunkBatches) that does not depend on how it is cut into batches, so that what was made
/// ahead serves batches of any size; what was made and never taken leaves no trace.
class Prefetcher {
 public:
  /// Fills `out`, [rows, row_length], with the rows `first`, `first` + 1, ...; runs in the thread.
  using Fill = std::function<void(std::int64_t first, std::span<std::int64_t> out)>;
  /// Where a row comes from, for messages.
  using Place = std::function<std::string(std::int64_t row)>;

  /// Begins with row `first` at once, and is at most `ahead` rows (1 at least) ahead of what was taken.
  Prefetcher(std::int64_t row_length, std::int64_t first, std::int64_t ahead, Fill fill, Place place);
  /// Waits for the row that is being made.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The row that take() hands out next.
  std::int64_t position() const { return taken_; }
  /// Fills `out`, [any number of rows, row_length], with the next rows. Throws what the thread met at one of them, as
  /// UserError or RunError, with the row's place in front; the rows before it can be taken.
  void take(std::span<std::int64_t> out);
  /// Seconds that take() has waited for the thread, and copied.
  double waited_seconds() const { return waited_; }

 private:
  void make_rows();
  std::span<std::int64_t> slots(std::int64_t row, std::int64_t most);

  std::int64_t row_length_;
  std::int64_t ahead_;
  Fill fill_;
  Place place_;
  std::vector<std::int64_t> ring_;  // row r in slot r % ahead_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t made_;
  std::int64_t taken_;
  std::exception_ptr fault_;  // of row made_
  bool stopped_ = false;
  double waited_ = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace skipless
