// Work of our own on LibTorch's threads.
#include "models/parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;

TEST_CASE("Parts cover every item once, none shorter than asked", "[parallel]") {
  for (const int64_t n : {0, 1, 5, 96, 1000, 40'000}) {
    for (const int64_t least : {1, 7, 5000}) {
      INFO(n << " items, at least " << least);
      std::vector<std::atomic<int>> visits(static_cast<size_t>(n));
      std::atomic<bool> is_short = false;
      parallel_parts(n, least, [&](int64_t begin, int64_t end) {
        if (end - begin < std::min(n, least) && end != n) is_short = true;
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& count) { return count == 1; }));
      CHECK_FALSE(is_short);
    }
  }
}

TEST_CASE("Parts run on as many threads as LibTorch has, side by side", "[parallel]") {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::atomic<int> waiting = 0;
  std::array<std::thread::id, 2> threads;
  parallel_parts(2, 1, [&](int64_t begin, int64_t end) {
    REQUIRE(end == begin + 1);
    threads[static_cast<size_t>(at::get_thread_num())] = std::this_thread::get_id();
    // Each waits for the other: neither could if one came after the other.
    ++waiting;
    const auto end_of_patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (waiting < 2 && std::chrono::steady_clock::now() < end_of_patience) std::this_thread::yield();
  });
  at::set_num_threads(before);
  CHECK(waiting == 2);
  CHECK(threads[0] != threads[1]);
}

TEST_CASE("What a part throws arrives", "[parallel]") {
  CHECK_THROWS_AS(parallel_parts(10, 1,
                                 [](int64_t begin, int64_t) {
                                   if (begin == 0) throw std::runtime_error("no");
                                 }),
                  std::runtime_error);
}
