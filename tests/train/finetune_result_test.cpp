#include "train/finetune_result.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "configs/error.h"
#include "data/glue_tasks.h"
#include "tests/temporary_folder.h"
#include "train/finetune_report.h"
#include "train/paper_numbers.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

using namespace skipless;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A task with the scores `values` of its first metric, one a seed, and half as much of the others.
TaskResult result_of(const std::string& task, const std::vector<double>& values, std::vector<std::string> names) {
  TaskResult result{.task = task, .start = "run", .majority = {}, .examples = {10, 4}, .cut = {1, 0}, .seeds = {}};
  for (size_t seed = 0; seed < values.size(); ++seed) {
    SeedResult run{.seed = static_cast<int64_t>(seed),
                   .steps = 20,
                   .seconds = 1,
                   .last = {},
                   .best = {},
                   .best_step = 10,
                   .divergence = {}};
    for (size_t i = 0; i < names.size(); ++i) {
      const double value = i == 0 ? values[seed] : values[seed] / 2;
      run.last.push_back({names[i], value});
      run.best.push_back({names[i], value + 0.01});
    }
    result.seeds.push_back(run);
  }
  for (const auto& name : names) result.majority.push_back({name, 0.5});
  return result;
}

/// All of the paper's tasks, each number of seed s being (80 + s)/100, and of MNLI-mm half of it.
std::vector<TaskResult> complete(size_t seeds) {
  std::vector<double> values;
  for (size_t seed = 0; seed < seeds; ++seed) values.push_back((80 + static_cast<double>(seed)) / 100);
  return {result_of("mnli", values, {"accuracy_m", "accuracy_mm"}),
          result_of("sst2", values, {"accuracy"}),
          result_of("stsb", values, {"Pearson", "Spearman"}),
          result_of("rte", values, {"accuracy"}),
          result_of("qnli", values, {"accuracy"}),
          result_of("qqp", values, {"F1", "accuracy"}),
          result_of("mrpc", values, {"F1", "accuracy"}),
          result_of("cola", values, {"MCC"})};
}

const FinetuneTitle kTitle{.run = "runs/x", .block = "sas", .recipe = "paper", .seeds = {0, 1, 2}};

}  // namespace

TEST_CASE("mean, standard deviation and median over seeds; one that is no number leaves none", "[finetune]") {
  const Spread spread = spread_of({1, 2, 6});
  CHECK(spread.mean == Approx(3));
  CHECK(spread.deviation == Approx(std::sqrt((4.0 + 1 + 9) / 2)));
  CHECK(spread.median == 2);
  CHECK(spread_of({1, 2, 3, 10}).median == 2.5);
  CHECK(spread_of({4}).mean == 4);
  CHECK(std::isnan(spread_of({4}).deviation));
  for (const auto& values : {std::vector<double>{1, kNan, 2}, std::vector<double>{}}) {
    CHECK(std::isnan(spread_of(values).mean));
    CHECK(std::isnan(spread_of(values).median));
  }
}

TEST_CASE("the paper's average is over nine numbers, and each seed has one", "[finetune]") {
  const auto average = average_of(complete(3), Reported::last);
  CHECK(average.is_complete());
  CHECK(average.of.size() == 9);
  REQUIRE(average.seeds.size() == 3);
  CHECK(average.seeds[1] == Approx((8 * 0.81 + 0.405) / 9));
  CHECK(average.spread.mean == Approx(average.seeds[1]));
  CHECK(average_of(complete(3), Reported::best).seeds[1] == Approx(average.seeds[1] + 0.01));
}

TEST_CASE("a mean of fewer numbers says which it has and which it lacks, and is not called the paper's", "[finetune]") {
  auto results = complete(3);
  results.erase(results.begin());  // MNLI
  results.push_back(result_of("wnli", {0.5, 0.5, 0.5}, {"accuracy"}));
  const auto average = average_of(results, Reported::last);
  CHECK_FALSE(average.is_complete());
  CHECK(average.missing == std::vector<std::string>{"MNLI-m", "MNLI-mm"});
  CHECK(average.of.size() == 7);
  CHECK(average.spread.mean == Approx(0.81));  // WNLI is in no average
  const std::string table = finetune_table(kTitle, results);
  CHECK_THAT(table, Catch::Contains("mean of SST-2, STS-B, RTE, QNLI, QQP, MRPC, CoLA 81.0 ± 1.0"));
  CHECK_THAT(table, Catch::Contains("not the paper's average, which also has MNLI-m, MNLI-mm"));
  CHECK_THAT(table, Catch::Contains("| **sas**, last epoch | – | – | 81.0 ± 1.0 |"));
  CHECK(average_of({}, Reported::last).missing.size() == 9);
}

TEST_CASE("the table stands beside the paper's rows, whose means are the paper's", "[finetune]") {
  for (const auto& row : paper_rows()) {
    double sum = 0;
    for (const double value : row.values) sum += value;
    CHECK(sum / 9 == Approx(row.glue).margin(0.1));  // both are rounded to one digit
  }
  const std::string table = finetune_table(kTitle, complete(3));
  CHECK_THAT(table, Catch::Contains(
                        "| SAS (paper) | 79.7 | 80.1 | 90.3 | 84.7 | 58.4 | 87.5 | 86.8 | 87.5 | 50.6 | 78.4 ± 0.8 |"));
  CHECK_THAT(table, Catch::Contains("| **sas**, last epoch | 81.0 ± 1.0 | 40.5 ± 0.5 |"));
  CHECK_THAT(table, Catch::Contains("| **sas**, best epoch | 82.0 ± 1.0 |"));
  CHECK_THAT(table, Catch::Contains("last epoch: mean of the paper's nine numbers"));
}

TEST_CASE("a seed that diverged has no last score, is null in JSON, and leaves the task without a mean", "[finetune]") {
  auto results = complete(3);
  auto& seed = results[1].seeds[2];
  seed.last.clear();
  seed.divergence = Divergence{.step = 7, .tensor = "block_0.w_k"};
  const auto json = nlohmann::json::parse(finetune_json(kTitle, results).dump());
  CHECK(json["tasks"]["sst2"]["last"]["accuracy"]["mean"].is_null());
  CHECK(json["tasks"]["sst2"]["last"]["accuracy"]["seeds"][1] == 0.81);
  CHECK(json["tasks"]["sst2"]["last"]["accuracy"]["seeds"][2].is_null());
  CHECK(json["tasks"]["sst2"]["best"]["accuracy"]["mean"].get<double>() == Approx(0.82));
  CHECK(json["tasks"]["sst2"]["runs"][2]["diverged"]["tensor"] == "block_0.w_k");
  CHECK(json["average"]["last"]["mean"].is_null());
  CHECK(json["average"]["best"]["is_the_papers"] == true);
  CHECK_THAT(finetune_table(kTitle, results), Catch::Contains("1 of 3") && !Catch::Contains("nan"));
  FinetuneTitle title = kTitle;
  title.run = "run\xff";  // a file's name may be any bytes, JSON must be UTF-8
  CHECK_THAT(finetune_json(title, results).dump(), Catch::Contains("\\xff"));
}

TEST_CASE("the result of a seed is read back as it was written, and another file is refused", "[finetune]") {
  const test::TemporaryFolder folder;
  SeedResult result{.seed = 3,
                    .steps = 40,
                    .seconds = 1.5,
                    .last = {{"Pearson", kNan}, {"Spearman", 0.25}},
                    .best = {{"Pearson", 1.0 / 3}},
                    .best_step = 20,
                    .divergence = Divergence{.step = 30, .tensor = "t"}};
  const auto back = read_seed_result(folder.write("result.json", to_json(result).dump()));
  CHECK(to_json(back).dump() == to_json(result).dump());
  CHECK(std::isnan(back.last[0].value));
  CHECK(back.best[0].value == 1.0 / 3);
  for (const char* text : {"", "{", "[]", "{\"seed\": 1}", "{\"seed\": \"x\"}"}) {
    CHECK_THROWS_AS(read_seed_result(folder.write("bad.json", text)), UserError);
  }
}

TEST_CASE("what is not a number is never the best seed", "[finetune]") {
  CHECK(best_seed(result_of("rte", {kNan, 0.5, 0.7, kNan}, {"accuracy"})) == size_t{2});
  CHECK_FALSE(best_seed(result_of("rte", {kNan}, {"accuracy"})));
}

TEST_CASE("the paper's numbers are scores that the tasks have", "[finetune]") {
  for (const auto& number : paper_numbers()) {
    const GlueTask& task = glue_task(number.task);
    std::vector<std::string> names;
    for (const auto& file : task.dev) {
      for (const auto& score : glue_scores(task, std::vector<double>{0.0}, std::vector<double>{0.0}, file.suffix)) {
        names.push_back(score.name);
      }
    }
    CHECK_THAT(names, Catch::VectorContains(std::string(number.score)));
  }
}
