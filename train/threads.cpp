#include "train/threads.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace skipless {

std::string set_threads(int64_t threads) {
  if (threads == 0) return "";
  const int64_t most = std::thread::hardware_concurrency();  // 0: not known
  const int64_t used = most > 0 ? std::min(threads, most) : threads;
  at::set_num_threads(static_cast<int>(used));
  if (used == threads) return "";
  return fmt::format("train.threads is {}, but this machine has {} to run: {} are used", threads, most, used);
}

}  // namespace skipless
