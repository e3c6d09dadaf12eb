#include "train/budget.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "configs/config_file.h"
#include "configs/error.h"
#include "train/run_config.h"

namespace skipless {

namespace {

TrainConfig config_of(const std::string& train) {
  return parse_config<RunConfig>("data: {folder: x}\ntrain: {" + train + "}", "test").train;
}

/// For sequences of 16 tokens and epochs of 100 of them.
BudgetPlan plan_of(const std::string& train) {
  const auto config = config_of(train);
  return BudgetPlan(config, config, config.schedule, 16, 100);
}

std::string problems_of(const std::string& train) {
  try {
    plan_of(train);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

struct PlannedStep {
  int64_t sequences;
  double lr;
};

/// Walks through a plan, every step taking `seconds`.
std::vector<PlannedStep> walk(const BudgetPlan& plan, double seconds = 0) {
  std::vector<PlannedStep> steps;
  for (BudgetSpent spent; !plan.is_spent(spent);) {
    steps.push_back({.sequences = plan.next_batch(spent), .lr = plan.learning_rate(spent)});
    spent.sequences += steps.back().sequences;
    spent.seconds += seconds;
    ++spent.steps;
  }
  return steps;
}

}  // namespace

TEST_CASE("a run has exactly one budget, 1000 steps if none is given", "[budget][config]") {
  CHECK(config_of("").steps == 1000);
  for (const char* budget : {"tokens: 7", "epochs: 0.5", "hours: 2"}) {
    INFO(budget);
    CHECK_FALSE(config_of(budget).steps.has_value());
    const auto error = problems_of(fmt::format("steps: 3, {}", budget));
    CHECK_THAT(error, Catch::Contains("a run has one budget, and steps is given too"));
    CHECK_THAT(error, Catch::Contains(std::string("train.") + std::string(budget).substr(0, 5)));
  }
  for (const char* wrong : {"steps: 0", "tokens: 0", "epochs: 0", "hours: 0", "hours: -1"}) {
    CHECK(problems_of(wrong) != "");
  }
  CHECK(plan_of("steps: 12").text() == "12 steps");
  CHECK(plan_of("tokens: 1600, batch_size: 8").text() == "1600 tokens (13 steps)");
  CHECK(plan_of("epochs: 0.5, batch_size: 8").text() == "0.5 epochs (7 steps)");
  CHECK(plan_of("hours: 24").text() == "24 hours");
}

TEST_CASE("the same budget in steps, tokens, epochs and hours gives the same rates", "[budget][schedule]") {
  const std::string kind = GENERATE("linear", "cosine", "constant", "triangle");
  const std::string rule = GENERATE("from_first_step", "from_zero");
  const std::string rest = fmt::format("batch_size: 8, schedule: {}, warmup_rule: {}{}", kind, rule,
                                       kind == "triangle" ? "" : ", warmup_fraction: 0.12");
  const auto expected = walk(plan_of("steps: 25, " + rest));
  REQUIRE(expected.size() == 25);
  for (const char* budget : {"tokens: 3200", "epochs: 2"}) {
    const auto steps = walk(plan_of(fmt::format("{}, {}", budget, rest)));
    REQUIRE(steps.size() == 25);
    // Every number is 8 times as large, which is exact.
    for (size_t i = 0; i < 25; ++i) CHECK(steps[i].lr == expected[i].lr);
  }
  // 25 steps of a quarter of a second, which is exact too; the first step of a warm-up cannot know its length.
  const auto steps = walk(plan_of(fmt::format("hours: {}, {}", 6.25 / 3600, rest)), 0.25);
  REQUIRE(steps.size() == 25);
  for (size_t i = 1; i < 25; ++i) CHECK(steps[i].lr == Approx(expected[i].lr).epsilon(1e-12));
  if (kind != "triangle" && rule == "from_first_step") {
    CHECK(steps[0].lr > 0);
    CHECK(steps[0].lr < expected[1].lr);
  }
}

TEST_CASE("the last step of a token budget takes what is left, and no more", "[budget]") {
  const auto steps = walk(plan_of("tokens: 289, batch_size: 8"));  // 18.06 sequences: 19
  REQUIRE(steps.size() == 3);
  CHECK(steps[1].sequences == 8);
  CHECK(steps[2].sequences == 3);
  CHECK(walk(plan_of("tokens: 1, batch_size: 8")).size() == 1);
  const auto third = walk(plan_of("epochs: 0.29, batch_size: 28"));  // 0.29 * 100 = 28.999999999999996
  REQUIRE(third.size() == 2);
  CHECK(third[1].sequences == 1);
  const auto tenth = walk(plan_of("epochs: 0.07, batch_size: 7"));  // 0.07 * 100 = 7.000000000000001
  CHECK(tenth.size() == 1);
}

TEST_CASE("the batch grows linearly by multiples of its start, to batch_size where the ramp ends", "[budget]") {
  const auto steps = walk(plan_of("steps: 10, batch_size: 32, batch_start: 8, batch_ramp: 0.6"));
  std::vector<int64_t> batches;
  for (const auto& step : steps) batches.push_back(step.sequences);
  // 1 + 4 * (i/10)/0.6, rounded down: 1, 1.67, 2.33, 3, 3.67, 4.33 ...
  CHECK(batches == std::vector<int64_t>{8, 8, 16, 24, 24, 32, 32, 32, 32, 32});
  // A last part that is no whole multiple, and one start that is the whole batch.
  CHECK(walk(plan_of("steps: 10, batch_size: 20, batch_start: 8, batch_ramp: 1"))[9].sequences == 20);
  CHECK(walk(plan_of("steps: 2, batch_size: 20, batch_start: 20, batch_ramp: 1"))[0].sequences == 20);
}

TEST_CASE("24 hours of Cramming: the batch from 64 to 8192 at 60 % of the time, the rate as budget-triangle2",
          "[budget][schedule]") {
  const auto plan = plan_of("hours: 24, schedule: triangle, lr: 1, batch_size: 8192, batch_start: 64, batch_ramp: 0.6");
  // Its lines (PAPER.md, section 3) as they are written there, at the times of `torch_default.py` and `schedulers.py`.
  const auto batch_there = [](double hours) {
    constexpr double kSteps = 900'000;
    const auto fake_step = std::floor(hours / 24 * kSteps);
    const double batch_size_step = 8192 / (kSteps * 0.6);
    return std::min<int64_t>((static_cast<int64_t>(std::floor(fake_step * batch_size_step / 64)) + 1) * 64, 8192);
  };
  const auto rate_there = [](double hours) {
    const double fraction = hours / 24;
    return fraction < 0.75 ? 0.25 + 0.75 * fraction / 0.75 : 4 - 4 * fraction;
  };
  for (const double seconds :
       {0.0, 1.0, 404.0, 406.0, 3600.0, 25'000.0, 51'434.0, 51'436.0, 64'799.0, 64'801.0, 86'399.0}) {
    INFO(seconds << " s");
    const BudgetSpent spent{.steps = 5, .sequences = 7, .seconds = seconds};
    CHECK(plan.next_batch(spent) == batch_there(seconds / 3600));
    CHECK(plan.learning_rate(spent) == Approx(rate_there(seconds / 3600)).margin(1e-15));
    CHECK_FALSE(plan.is_spent(spent));
  }
  CHECK(plan.next_batch({}) == 64);
  CHECK(plan.next_batch({.seconds = 406}) == 128);      // a 128th of 14.4 hours is 405 s
  CHECK(plan.next_batch({.seconds = 51'436}) == 8192);  // 127 of them: 51,435 s
  CHECK(plan.is_spent({.seconds = 86'400}));
}

TEST_CASE("the ramp of a token budget is known in advance, and does not depend on micro_batch", "[budget]") {
  const std::string ramp = "tokens: 16000, batch_size: 32, batch_start: 8, batch_ramp: 0.6, warmup_steps: 5, ";
  const auto plan = plan_of(ramp + "micro_batch: 8");
  const auto steps = walk(plan), other = walk(plan_of(ramp + "micro_batch: 3"));
  CHECK(plan.steps() == static_cast<int64_t>(steps.size()));
  REQUIRE(other.size() == steps.size());
  int64_t sequences = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    CHECK(other[i].sequences == steps[i].sequences);
    CHECK(other[i].lr == steps[i].lr);
    sequences += steps[i].sequences;
  }
  CHECK(sequences == 1000);
  // The warm-up is over after 5 steps, whatever they hold.
  CHECK(steps[4].lr < 1e-3);
  CHECK(steps[5].lr == 1e-3);
  CHECK(plan.seconds_left({.steps = 0, .sequences = 600, .seconds = 9}, 100) == 4);
  CHECK(plan_of("hours: 1").seconds_left({.steps = 1, .sequences = 600, .seconds = 600}, 100) == 3000);
}

TEST_CASE("a warm-up under a ramp ends with the first step that reaches its fraction", "[budget][schedule]") {
  const std::string ramp = "batch_size: 1024, batch_start: 8, batch_ramp: 1, schedule: constant, ";
  const double fraction = GENERATE(0.0, 0.05, 0.3, 0.999);
  const auto steps = walk(plan_of(fmt::format("tokens: 64000, {}warmup_fraction: {}", ramp, fraction)));
  double sequences = 0;  // of 4000
  for (const auto& step : steps) {
    CHECK((step.lr < 1e-3) == (sequences < fraction * 4000));
    sequences += static_cast<double>(step.sequences);
  }
}

TEST_CASE("the steps of a ramp are counted as they are walked", "[budget]") {
  for (const char* budget : {"steps: 777", "tokens: 16000", "tokens: 100000", "epochs: 7.77"}) {
    for (const char* batch :
         {"batch_size: 20, batch_start: 8, batch_ramp: 1", "batch_size: 64, batch_start: 1, batch_ramp: 0.3",
          "batch_size: 9, batch_start: 9, batch_ramp: 0.5", "batch_size: 7"}) {
      INFO(budget << ", " << batch);
      const auto plan = plan_of(fmt::format("{}, {}", budget, batch));
      const auto steps = walk(plan);
      int64_t sequences = 0;
      for (const auto& step : steps) sequences += step.sequences;
      CHECK(plan.steps() == static_cast<int64_t>(steps.size()));
      CHECK(plan.seconds_left({}, 1) == static_cast<double>(sequences));
    }
  }
}

TEST_CASE("a ramp of more steps than could be walked through is planned at once", "[budget]") {
  // 6.25e10 sequences, as many at each batch from 1 to 32.
  double steps_of_a_sequence = 0;
  for (int batch = 1; batch <= 32; ++batch) steps_of_a_sequence += 1.0 / batch / 32;
  const auto plan = plan_of("tokens: 1000000000000, batch_size: 32, batch_start: 1, batch_ramp: 1");
  CHECK(static_cast<double>(*plan.steps()) == Approx(6.25e10 * steps_of_a_sequence).epsilon(1e-6));
  CHECK(plan_of("steps: 1000000000, batch_size: 32, batch_start: 1, batch_ramp: 1").seconds_left({}, 1) ==
        Approx(1e9 * 16.5).epsilon(1e-6));
}

TEST_CASE("contradictions of budget and batch are named by key", "[budget][config]") {
  CHECK_THAT(problems_of("batch_start: 8"), Catch::Contains("train.batch_ramp"));
  CHECK_THAT(problems_of("batch_ramp: 0.5"), Catch::Contains("train.batch_start"));
  CHECK_THAT(problems_of("batch_start: 64, batch_ramp: 0.5"), Catch::Contains("train.batch_start"));
  CHECK_THAT(problems_of("batch_start: 8, batch_ramp: 1.5"), Catch::Contains("train.batch_ramp"));
  CHECK_THAT(problems_of("tokens: 160, batch_size: 5, warmup_steps: 3"),
             Catch::Contains("a warm-up of 3 steps is longer than the run's 2 steps"));
}

}  // namespace skipless
