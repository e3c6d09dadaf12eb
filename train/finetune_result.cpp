#include "train/finetune_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "configs/error.h"
#include "configs/printable.h"
#include "train/paper_numbers.h"
#include "train/quartiles.h"

namespace skipless {

using nlohmann::ordered_json;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ordered_json to_json(const std::vector<GlueScore>& scores) {
  ordered_json json = ordered_json::object();
  for (const auto& score : scores) json[score.name] = score.value;  // NaN is written as null
  return json;
}

std::vector<GlueScore> scores_of(const ordered_json& json) {
  std::vector<GlueScore> scores;
  for (const auto& [name, value] : json.items()) {
    scores.push_back({.name = name, .value = value.is_null() ? kNan : value.get<double>()});
  }
  return scores;
}

double score_named(const std::vector<GlueScore>& scores, std::string_view name) {
  const auto found = std::find_if(scores.begin(), scores.end(), [&](const auto& score) { return score.name == name; });
  return found == scores.end() ? kNan : found->value;
}

const std::vector<GlueScore>& scores_of(const SeedResult& seed, Reported which) {
  return which == Reported::last ? seed.last : seed.best;
}

}  // namespace

ordered_json to_json(const SeedResult& result) {
  ordered_json json = {{"seed", result.seed},          {"steps", result.steps},        {"seconds", result.seconds},
                       {"last", to_json(result.last)}, {"best", to_json(result.best)}, {"best_step", result.best_step},
                       {"diverged", nullptr}};
  if (result.divergence) {
    json["diverged"] = {{"step", result.divergence->step}, {"tensor", result.divergence->tensor}};
  }
  return json;
}

SeedResult read_seed_result(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  try {
    const auto json = ordered_json::parse(stream);
    SeedResult result{.seed = json.at("seed"),
                      .steps = json.at("steps"),
                      .seconds = json.at("seconds"),
                      .last = scores_of(json.at("last")),
                      .best = scores_of(json.at("best")),
                      .best_step = json.at("best_step"),
                      .divergence = {}};
    if (const auto& diverged = json.at("diverged"); !diverged.is_null()) {
      result.divergence = Divergence{.step = diverged.at("step"), .tensor = diverged.at("tensor")};
    }
    return result;
  } catch (const ordered_json::exception& error) {
    constexpr size_t kMost = 200;
    throw UserError(fmt::format("{}: not what this program writes ({}); remove it to have it made anew", file.string(),
                                printable(error.what(), kMost)));
  }
}

Spread spread_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const bool defined =
      !values.empty() && std::none_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
  if (!defined) return {.mean = kNan, .deviation = kNan, .median = kNan};
  Spread spread;
  spread.mean = std::reduce(values.begin(), values.end()) / n;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : kNan;
  spread.median = quartiles_of(values).median;
  return spread;
}

std::vector<double> values_of(const TaskResult& result, Reported which, const std::string& name) {
  std::vector<double> values;
  for (const auto& seed : result.seeds) values.push_back(score_named(scores_of(seed, which), name));
  return values;
}

std::optional<size_t> best_seed(const TaskResult& result) {
  std::optional<size_t> best;
  for (size_t i = 0; i < result.seeds.size(); ++i) {
    const auto& scores = result.seeds[i].best;
    if (scores.empty() || std::isnan(scores[0].value)) continue;
    if (!best || scores[0].value > result.seeds[*best].best[0].value) best = i;
  }
  return best;
}

Average average_of(const std::vector<TaskResult>& results, Reported which) {
  Average average;
  std::vector<std::vector<double>> numbers;
  for (const auto& number : paper_numbers()) {
    const auto task =
        std::find_if(results.begin(), results.end(), [&](const auto& r) { return r.task == number.task; });
    if (task == results.end()) {
      average.missing.emplace_back(number.heading);
    } else {
      average.of.emplace_back(number.heading);
      numbers.push_back(values_of(*task, which, std::string(number.score)));
    }
  }
  size_t seeds = numbers.empty() ? 0 : numbers[0].size();
  for (const auto& values : numbers) seeds = std::min(seeds, values.size());
  for (size_t seed = 0; seed < seeds; ++seed) {
    double sum = 0;
    for (const auto& values : numbers) sum += values[seed];
    average.seeds.push_back(sum / static_cast<double>(numbers.size()));
  }
  average.spread = spread_of(average.seeds);
  return average;
}

}  // namespace skipless
