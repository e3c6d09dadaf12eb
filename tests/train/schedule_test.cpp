#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "configs/config_file.h"
#include "tests/shared_folder.h"
#include "train/budget.h"
#include "train/run_config.h"

namespace skipless {

namespace {

// The tables hold ten significant digits.
constexpr double kTableDigits = 1e-9;
// A rate is one or two roundings of a double.
constexpr double kRounding = 1e-15;

ScheduleConfig schedule(double lr, double lr_end, int64_t warmup, WarmupRule rule,
                        ScheduleKind kind = ScheduleKind::linear) {
  ScheduleConfig config;
  config.lr = lr;
  config.lr_end = lr_end;
  config.warmup_steps = warmup;
  config.warmup_rule = rule;
  config.schedule = kind;
  return config;
}

/// The rate of `step` in a run of `steps`.
double rate(const ScheduleConfig& config, int64_t steps, int64_t step) {
  BudgetConfig budget;
  budget.steps = steps;
  return BudgetPlan(budget, {}, config, /*context_length=*/16, /*chunks=*/100).learning_rate({.steps = step});
}

std::string problems_of(const std::string& train) {
  try {
    parse_config<RunConfig>("data: {folder: x}\ntrain: {" + train + "}", "test");
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the rate of every step is that of the shared table, by both warm-up rules", "[schedule]") {
  const auto file = test::shared_folder() / "cases/schedule/linear_warmup_expected.tsv";
  SKIPLESS_NEEDS(file);
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  const auto hugging_face = schedule(1e-3, 0, 2, WarmupRule::from_zero);
  const auto polynomial = schedule(1e-3, 1e-7, 2, WarmupRule::from_zero);
  const auto plus_one = schedule(1e-3, 0, 2, WarmupRule::from_first_step);
  int64_t rows = 0;
  for (; std::getline(stream, line); ++rows) {
    std::istringstream fields(line);
    int64_t step = -1;
    double hf = -1, end = -1, one = -1;
    fields >> step >> hf >> end >> one;
    CHECK(step == rows);
    CHECK(rate(hugging_face, 40, step) == Approx(hf).epsilon(kTableDigits).margin(1e-16));
    CHECK(rate(polynomial, 40, step) == Approx(end).epsilon(kTableDigits));
    CHECK(rate(plus_one, 40, step) == Approx(one).epsilon(kTableDigits).margin(1e-16));
  }
  CHECK(rows == 41);
}

TEST_CASE("warm-up, peak, middle and end of each schedule are the values worked out by hand", "[schedule]") {
  const auto kind = GENERATE(ScheduleKind::linear, ScheduleKind::cosine, ScheduleKind::constant);
  const auto config = schedule(8, 2, 3, WarmupRule::from_first_step, kind);
  CHECK(rate(config, 11, 0) == 2);  // 8 * 1/4
  CHECK(rate(config, 11, 2) == 6);  // 8 * 3/4
  CHECK(rate(config, 11, 3) == 8);
  const double quarter = kind == ScheduleKind::linear ? 6.5 : kind == ScheduleKind::cosine ? 7.121320343559642 : 8;
  CHECK(rate(config, 11, 5) == Approx(quarter).epsilon(kRounding));
  CHECK(rate(config, 11, 7) == Approx(kind == ScheduleKind::constant ? 8 : 5).epsilon(kRounding));
  CHECK(rate(config, 11, 11) == (kind == ScheduleKind::constant ? 8 : 2));
  CHECK(rate(config, 11, 500) == (kind == ScheduleKind::constant ? 8 : 2));
}

TEST_CASE("no step of a run has rate 0, unless Hugging Face's rule is asked for", "[schedule]") {
  for (const int64_t warmup : {0, 1, 7, 20}) {
    for (int64_t step = 0; step < 20; ++step) {
      CHECK(rate(schedule(1, 0, warmup, WarmupRule::from_first_step), 20, step) > 0);
    }
  }
  CHECK(rate(schedule(1, 0, 7, WarmupRule::from_zero), 20, 0) == 0);
}

TEST_CASE("a warm-up given as a fraction is rounded up, but not by the rounding of the fraction", "[schedule]") {
  CHECK(rounded_warmup(0.05, 100, 1) == 5);
  CHECK(rounded_warmup(0.05, 101, 1) == 6);
  CHECK(rounded_warmup(0.07, 100, 1) == 7);  // 0.07 * 100 = 7.000000000000001
  CHECK(rounded_warmup(0, 100, 1) == 0);
  CHECK(rounded_warmup(0.05, 101 * 8, 8) == 6 * 8);
  CHECK(rounded_warmup(0.05, 10, 0) == 0.5);
}

TEST_CASE("the triangle is that of Cramming: a quarter, the peak at three quarters, nothing", "[schedule]") {
  const auto config = schedule(8, 0, 0, WarmupRule::from_first_step, ScheduleKind::triangle);
  CHECK(rate(config, 100, 0) == 2);
  CHECK(rate(config, 100, 75) == 8);
  CHECK(rate(config, 100, 100) == 0);
  for (int64_t step = 0; step < 100; ++step) {
    const double x = static_cast<double>(step) / 100;
    // budget-triangle2 as it is written there.
    CHECK(rate(config, 100, step) == Approx(8 * std::min(0.25 + 0.75 * x / 0.75, 4 - 4 * x)).epsilon(kRounding));
    CHECK(rate(config, 100, step) > 0);
  }
}

TEST_CASE("lr is what was asked for, else that of the block in lr_of, else 1e-3", "[schedule][config]") {
  const std::string recipe =
      "model: {block: sas_p, norm: rms_norm}\ndata: {folder: x}\n"
      "train: {lr_of: {sas: 0.003, sas_p: 0.004, no_norm: 0.002}}";
  const auto lr = [&](const std::vector<std::string>& overrides) {
    const auto config = parse_config<RunConfig>(recipe, "test", overrides);
    // What a run keeps is the number alone.
    const std::string written = write_config(config);
    CHECK(written.find("lr_of") == std::string::npos);
    CHECK(parse_config<RunConfig>(written, "written").train.schedule.lr == config.train.schedule.lr);
    return *config.train.schedule.lr;
  };
  CHECK(lr({}) == 0.004);
  CHECK(lr({"model.block=sas"}) == 0.003);
  CHECK(lr({"model.block=pre_ln"}) == 1e-3);
  CHECK(lr({"train.lr_of.pre_ln=0.005", "model.block=pre_ln"}) == 0.005);
  CHECK(lr({"model.norm=none"}) == 0.002);
  CHECK(lr({"model.norm=none", "model.block=pre_ln"}) == 0.002);
  CHECK(lr({"model.norm=none", "train.lr_of.no_norm=null"}) == 0.004);
  CHECK(lr({"train.lr=0.5"}) == 0.5);
  CHECK(lr({"train.lr=0.5", "model.norm=none"}) == 0.5);
  CHECK(problems_of("lr_of: {sas: 2000}").find("train.lr_of.sas") != std::string::npos);
  CHECK(problems_of("lr_of: {no_nrm: 0.1}").find("did you mean 'no_norm'") != std::string::npos);
}

TEST_CASE("contradictions of the schedule are named by key", "[schedule][config]") {
  CHECK(problems_of("steps: 40") == "");
  CHECK(problems_of("steps: 40, warmup_steps: 4, warmup_fraction: 0.1").find("train.warmup_fraction") !=
        std::string::npos);
  CHECK(problems_of("steps: 40, warmup_steps: 41").find("train.warmup_steps") != std::string::npos);
  CHECK(problems_of("lr: 0.001, lr_end: 0.1").find("train.lr_end") != std::string::npos);
  CHECK(problems_of("schedule: triangle") == "");
  for (const char* other : {"warmup_steps: 4", "warmup_fraction: 0.1", "lr_end: 0.0001"}) {
    INFO(other);
    CHECK(problems_of(fmt::format("schedule: triangle, {}", other)).find("triangle") != std::string::npos);
  }
  CHECK(problems_of("hours: 1, warmup_steps: 4").find("train.warmup_steps") != std::string::npos);
}

}  // namespace skipless
