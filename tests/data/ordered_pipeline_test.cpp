#include "data/ordered_pipeline.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

using namespace skipless;

namespace {

struct Count {
  int next = 0;
  int end = 0;
  std::optional<int> operator()() { return next < end ? std::optional<int>(next++) : std::nullopt; }
};

}  // namespace

TEST_CASE("results come in the order of the items, whatever the threads and the budget", "[pipeline]") {
  for (const std::size_t threads : {1, 2, 7}) {
    for (const std::size_t budget : {0, 1, 10, 10000}) {
      Count count{.next = 0, .end = 300};
      std::vector<int> seen;
      std::atomic<int> on_the_way = 0;
      std::atomic<int> most = 0;
      OrderedPipeline<int, int> pipeline(threads, budget);
      pipeline.run([&] { return count(); }, [&](const int&) -> std::size_t { return 1; },
                   [&] {
                     return [&](int&& item) {
                       most = std::max<int>(most, ++on_the_way);
                       if (item % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
                       --on_the_way;
                       return item * item;
                     };
                   },
                   [&](int&& result) { seen.push_back(result); });
      REQUIRE(seen.size() == 300);
      for (int i = 0; i < 300; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i * i);
      CHECK(most <= static_cast<int>(std::max<std::size_t>(1, std::min(threads, budget))));
    }
  }
}

TEST_CASE("the first fault in the order of the items is thrown, behind the results before it", "[pipeline]") {
  for (const std::size_t threads : {1, 4}) {
    const auto run = [&](int bad_item, int bad_work, int bad_result) {
      Count count{.next = 0, .end = 100};
      int results = 0;
      std::string fault;
      OrderedPipeline<int, int> pipeline(threads, 50);
      try {
        pipeline.run(
            [&] {
              if (count.next == bad_item) throw std::runtime_error("item");
              return count();
            },
            [](const int&) -> std::size_t { return 1; },
            [&] {
              return [&](int&& item) {
                if (item < bad_work) std::this_thread::sleep_for(std::chrono::microseconds(100));
                if (item >= bad_work) throw std::runtime_error("work " + std::to_string(item));
                return item;
              };
            },
            [&](int&& result) {
              if (result == bad_result) throw std::runtime_error("result");
              ++results;
            });
      } catch (const std::runtime_error& error) {
        fault = error.what();
      }
      return std::to_string(results) + " " + fault;
    };
    CHECK(run(30, 1000, 1000) == "30 item");
    CHECK(run(1000, 20, 1000) == "20 work 20");
    CHECK(run(30, 20, 1000) == "20 work 20");
    CHECK(run(1000, 20, 10) == "10 result");
    CHECK(run(0, 0, 0) == "0 item");
    CHECK(run(1000, 1000, 1000) == "100 ");
  }
}
