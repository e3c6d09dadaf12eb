#include "train/finetune_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "configs/printable.h"
#include "data/glue_tasks.h"
#include "train/paper_numbers.h"

namespace skipless {

using nlohmann::ordered_json;

namespace {

constexpr const char* kNone = "–";

std::string_view name_of(Reported which) {
  return which == Reported::last ? "last epoch" : "best epoch";
}

ordered_json to_json(const Spread& spread) {
  return {{"mean", spread.mean}, {"standard_deviation", spread.deviation}, {"median", spread.median}};
}

ordered_json scores_json(const TaskResult& result, Reported which) {
  ordered_json json = ordered_json::object();
  for (const auto& score : result.majority) {
    const auto values = values_of(result, which, score.name);
    json[score.name] = to_json(spread_of(values));
    json[score.name]["seeds"] = values;
  }
  return json;
}

ordered_json average_json(const std::vector<TaskResult>& results, Reported which) {
  const Average average = average_of(results, which);
  ordered_json json = {{"of", average.of}, {"missing", average.missing}, {"is_the_papers", average.is_complete()}};
  json.update(to_json(average.spread));
  json["seeds"] = average.seeds;
  return json;
}

/// In per cent, as all below: "81.2".
std::string cell(double value) {
  return std::isnan(value) ? kNone : fmt::format("{:.1f}", 100 * value);
}

/// "81.2", "81.2 ± 0.3".
std::string cell(const Spread& spread) {
  if (std::isnan(spread.mean)) return kNone;
  return std::isnan(spread.deviation) ? fmt::format("{:.1f}", 100 * spread.mean)
                                      : fmt::format("{:.1f} ± {:.1f}", 100 * spread.mean, 100 * spread.deviation);
}

std::string row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string our_row(const FinetuneTitle& title, const std::vector<TaskResult>& results, Reported which) {
  std::vector<std::string> cells{fmt::format("**{}**, {}", title.block, name_of(which))};
  for (const auto& number : paper_numbers()) {
    const auto task =
        std::find_if(results.begin(), results.end(), [&](const auto& r) { return r.task == number.task; });
    cells.push_back(task == results.end() ? kNone
                                          : cell(spread_of(values_of(*task, which, std::string(number.score)))));
  }
  const Average average = average_of(results, which);
  cells.push_back(average.is_complete() ? cell(average.spread) : kNone);
  return row(cells);
}

std::string beside_the_paper(const FinetuneTitle& title, const std::vector<TaskResult>& results) {
  std::vector<std::string> headings{"block"};
  for (const auto& number : paper_numbers()) headings.emplace_back(number.heading);
  headings.emplace_back("GLUE");
  std::string text = row(headings);
  text += row(std::vector<std::string>(headings.size(), "---"));
  for (const auto& paper : paper_rows()) {
    std::vector<std::string> cells{fmt::format("{} (paper)", paper.block)};
    for (const double value : paper.values) cells.push_back(fmt::format("{:.1f}", value));
    cells.push_back(fmt::format("{:.1f} ± {:.1f}", paper.glue, paper.deviation));
    text += row(cells);
  }
  for (const auto which : {Reported::last, Reported::best}) text += our_row(title, results, which);
  return text;
}

std::string average_text(const std::vector<TaskResult>& results, Reported which) {
  const Average average = average_of(results, which);
  if (average.of.empty()) return "";
  if (average.is_complete()) {
    return fmt::format("{}: mean of the paper's nine numbers {}, median over the seeds {}\n", name_of(which),
                       cell(average.spread), cell(average.spread.median));
  }
  return fmt::format("{}: mean of {} {}, median over the seeds {}; not the paper's average, which also has {}\n",
                     name_of(which), fmt::join(average.of, ", "), cell(average.spread), cell(average.spread.median),
                     fmt::join(average.missing, ", "));
}

std::string each_score(const std::vector<TaskResult>& results) {
  std::string text = row({"task", "score", "last: mean", "median", "seeds", "best: mean", "median", "seeds",
                          "commonest label", "diverged"});
  text += row(std::vector<std::string>(10, "---"));
  for (const auto& result : results) {
    const auto diverged = std::count_if(result.seeds.begin(), result.seeds.end(),
                                        [](const auto& seed) { return seed.divergence.has_value(); });
    for (const auto& score : result.majority) {
      std::vector<std::string> cells{std::string(glue_task(result.task).title), score.name};
      if (result.start != "run") cells[0] += fmt::format(" (from {})", result.start);
      for (const auto which : {Reported::last, Reported::best}) {
        const auto values = values_of(result, which, score.name);
        const Spread spread = spread_of(values);
        cells.push_back(cell(spread));
        cells.push_back(cell(spread.median));
        std::vector<std::string> seeds;
        for (const double value : values) seeds.push_back(cell(value));
        cells.push_back(fmt::format("{}", fmt::join(seeds, " ")));
      }
      cells.push_back(cell(score.value));
      cells.push_back(fmt::format("{} of {}", diverged, result.seeds.size()));
      text += row(cells);
    }
  }
  return text;
}

}  // namespace

ordered_json finetune_json(const FinetuneTitle& title, const std::vector<TaskResult>& results) {
  // Paths may be no UTF-8, which JSON has to be.
  ordered_json json = {{"run", printable(title.run)},
                       {"block", title.block},
                       {"recipe", printable(title.recipe)},
                       {"seeds", title.seeds}};
  json["tasks"] = ordered_json::object();
  for (const auto& result : results) {
    ordered_json task = {{"start", result.start}, {"examples", result.examples}, {"cut", result.cut}};
    task["commonest_label"] = ordered_json::object();
    for (const auto& score : result.majority) task["commonest_label"][score.name] = score.value;
    task["last"] = scores_json(result, Reported::last);
    task["best"] = scores_json(result, Reported::best);
    task["runs"] = ordered_json::array();
    for (const auto& seed : result.seeds) task["runs"].push_back(skipless::to_json(seed));
    json["tasks"][result.task] = std::move(task);
  }
  json["average"] = {{"last", average_json(results, Reported::last)}, {"best", average_json(results, Reported::best)}};
  return json;
}

std::string finetune_table(const FinetuneTitle& title, const std::vector<TaskResult>& results) {
  constexpr size_t kMost = 4096;
  return fmt::format(
      "{}: block {}, recipe {}, seeds {}. Dev sets, in per cent; ± is the standard deviation over the seeds, {} what "
      "is "
      "not there or not defined. *last epoch* is what the paper reports; *best epoch* is the evaluation with the best "
      "first score of a task, chosen on the same dev set.\n\n{}\n{}{}\n{}",
      printable(title.run, kMost), title.block, printable(title.recipe, kMost), fmt::join(title.seeds, ", "), kNone,
      beside_the_paper(title, results), average_text(results, Reported::last), average_text(results, Reported::best),
      each_score(results));
}

}  // namespace skipless
