#include "train/progress.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace skipless {

TEST_CASE("a line of progress says step, loss, speed and time left", "[progress]") {
  const StepReport report{.position = {.step = 25, .steps = 100, .fraction = 0.25, .seconds_left = 150},
                          .loss = 3.14159,
                          .tokens_per_second = 1234567.4,
                          .ms_per_step = 2000,
                          .peak_memory = 1'234'000'000,
                          .flops_utilisation = 0.3456};
  CHECK(progress_text(report) ==
        "step 25/100  loss 3.1416  1,234,567 tokens/s  2000.0 ms/step  MFU 34.6 %  1.23 GB  ETA 2:30");
  CHECK(progress_bar(report, 200).substr(0, 24) == "[#####---------------] s");
  CHECK(progress_bar({.position = {.step = 100, .steps = 100, .fraction = 1}}, 200).substr(0, 22) ==
        "[####################]");
  // Eighty columns: the time left is worth more than the bar.
  CHECK(progress_bar(report, 79).substr(0, 9) == "[#-----] ");
  CHECK(progress_bar(report, 79).ends_with("ETA 2:30"));
  CHECK(progress_bar(report, 79).find("MFU") == std::string::npos);
  CHECK(progress_bar(report, 30) == progress_text(report).substr(0, 30));
}

TEST_CASE("where the number of steps is not known, progress is the part of the budget", "[progress]") {
  const StepReport report{.position = {.step = 25, .fraction = 0.3125, .seconds_left = 61}, .loss = 2};
  CHECK(progress_text(report) == "step 25 (31.2 %)  loss 2.0000  0 tokens/s  0.0 ms/step  MFU n/a  0.00 GB  ETA 1:01");
}

TEST_CASE("a loss that is not known is not available", "[progress]") {
  CHECK_THAT(progress_text({.loss = -std::nan("")}), Catch::Contains("loss n/a  "));
}

TEST_CASE("durations are clocks", "[progress]") {
  CHECK(clock_text(0) == "0:00");
  CHECK(clock_text(59.6) == "1:00");
  CHECK(clock_text(3725) == "1:02:05");
  CHECK(clock_text(-3) == "0:00");
}

}  // namespace skipless
