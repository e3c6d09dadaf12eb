#include "data/glue_tasks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/error.h"
#include "configs/nearest.h"
#include "configs/printable.h"

namespace skipless {
namespace {

using enum GlueMetric;

// The order of Hugging Face's glue/mnli. Files and leaderboard go by the names alone.
const std::vector<std::string_view> kThreeWay = {"entailment", "neutral", "contradiction"};
const std::vector<std::string_view> kTwoWay = {"entailment", "not_entailment"};

std::vector<GlueFile> test_file(std::string_view submission) {
  return {{.name = "test.tsv", .submission = submission}};
}

std::vector<GlueTask> make_tasks() {
  return {{.name = "mnli",
           .title = "MNLI",
           .labels = kThreeWay,
           .no_label = "-",
           .label = {"gold_label", "label"},
           .dev = {{"dev_matched.tsv", "m"}, {"dev_mismatched.tsv", "mm"}},
           .test = {{"test_matched.tsv", "m", "MNLI-m.tsv"}, {"test_mismatched.tsv", "mm", "MNLI-mm.tsv"}}},
          {.name = "sst2",
           .title = "SST-2",
           .folders = {"SST-2", "SST2", "SST"},
           .first = {"sentence"},
           .second = {},
           .test = test_file("SST-2.tsv")},
          {.name = "stsb",
           .title = "STS-B",
           .folders = {"STS-B", "STSB", "STS"},
           .labels = {},
           .high = 5,
           .label = {"score", "label"},
           .test = test_file("STS-B.tsv"),
           .metrics = {pearson, spearman}},
          {.name = "rte", .title = "RTE", .labels = kTwoWay, .test = test_file("RTE.tsv")},
          {.name = "qnli",
           .title = "QNLI",
           .labels = kTwoWay,
           .first = {"question", "sentence1"},
           .second = {"sentence", "sentence2"},
           .test = test_file("QNLI.tsv")},
          {.name = "qqp",
           .title = "QQP",
           .first = {"question1", "sentence1"},
           .second = {"question2", "sentence2"},
           .label = {"is_duplicate", "label"},
           .test = test_file("QQP.tsv"),
           .metrics = {f1, accuracy}},
          {.name = "mrpc",
           .title = "MRPC",
           .first = {"#1 String", "sentence1"},
           .second = {"#2 String", "sentence2"},
           .label = {"Quality", "label"},
           .test = test_file("MRPC.tsv"),
           .metrics = {f1, accuracy}},
          {.name = "cola",
           .title = "CoLA",
           .first = {"sentence"},
           .second = {},
           .headerless = ColumnPlaces{.columns = 4, .first = 3, .label = 1},
           .test = test_file("CoLA.tsv"),
           .metrics = {matthews}},
          {.name = "wnli", .title = "WNLI", .test = test_file("WNLI.tsv")},
          // The classes are those of MNLI, whose model it is for.
          {.name = "ax",
           .title = "AX",
           .folders = {"AX", "diagnostic"},
           .labels = kThreeWay,
           .first = {"sentence1", "Premise"},
           .second = {"sentence2", "Hypothesis"},
           .label = {"label", "Label"},
           .train = {},
           .dev = {},
           .test = {{.name = "diagnostic.tsv", .submission = "AX.tsv"}},
           .metrics = {matthews}}};
}

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace

std::string_view name_of(GlueMetric metric) {
  switch (metric) {
    case accuracy:
      return "accuracy";
    case f1:
      return "F1";
    case matthews:
      return "MCC";
    case pearson:
      return "Pearson";
    case spearman:
      return "Spearman";
  }
  return "?";
}

const std::vector<GlueFile>& GlueTask::files(GlueSplit split) const {
  if (split == GlueSplit::train) return train;
  return split == GlueSplit::dev ? dev : test;
}

std::span<const GlueTask> glue_tasks() {
  static const std::vector<GlueTask> kTasks = make_tasks();
  return kTasks;
}

const GlueTask& glue_task(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& task : glue_tasks()) {
    if (folded(name) == task.name) return task;
    names.emplace_back(task.name);
  }
  throw UserError(fmt::format("there is no task {}{}; the tasks are {}", in_quotes(name), did_you_mean(name, names),
                              fmt::join(names, ", ")));
}

}  // namespace skipless
