#include "data/glue_tasks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/error.h"
#include "configs/nearest.h"
#include "configs/printable.h"

namespace skipless {
namespace {

using enum GlueMetric;

const std::vector<std::string_view> kYesNo = {"0", "1"};
// The order of Hugging Face's glue/mnli. Files and leaderboard go by the names alone.
const std::vector<std::string_view> kThreeWay = {"entailment", "neutral", "contradiction"};
const std::vector<std::string_view> kTwoWay = {"entailment", "not_entailment"};
const ColumnNames kSentence1 = {"sentence1"};
const ColumnNames kSentence2 = {"sentence2"};
const ColumnNames kLabel = {"label"};
const std::vector<GlueFile> kTrain = {{"train.tsv", "", ""}};
const std::vector<GlueFile> kDev = {{"dev.tsv", "", ""}};

std::vector<GlueFile> test_file(std::string_view submission) {
  return {{"test.tsv", "", submission}};
}

std::vector<GlueTask> make_tasks() {
  std::vector<GlueTask> tasks;
  tasks.push_back({.name = "mnli",
                   .title = "MNLI",
                   .folders = {"MNLI"},
                   .labels = kThreeWay,
                   .no_label = "-",
                   .first = kSentence1,
                   .second = kSentence2,
                   .label = {"gold_label", "label"},
                   .headerless = {},
                   .train = kTrain,
                   .dev = {{"dev_matched.tsv", "m", ""}, {"dev_mismatched.tsv", "mm", ""}},
                   .test = {{"test_matched.tsv", "m", "MNLI-m.tsv"}, {"test_mismatched.tsv", "mm", "MNLI-mm.tsv"}},
                   .metrics = {accuracy}});
  tasks.push_back({.name = "sst2",
                   .title = "SST-2",
                   .folders = {"SST-2", "SST2", "SST"},
                   .labels = kYesNo,
                   .no_label = "",
                   .first = {"sentence"},
                   .second = {},
                   .label = kLabel,
                   .headerless = {},
                   .train = kTrain,
                   .dev = kDev,
                   .test = test_file("SST-2.tsv"),
                   .metrics = {accuracy}});
  tasks.push_back({.name = "stsb",
                   .title = "STS-B",
                   .folders = {"STS-B", "STSB", "STS"},
                   .labels = {},
                   .low = 0,
                   .high = 5,
                   .no_label = "",
                   .first = kSentence1,
                   .second = kSentence2,
                   .label = {"score", "label"},
                   .headerless = {},
                   .train = kTrain,
                   .dev = kDev,
                   .test = test_file("STS-B.tsv"),
                   .metrics = {pearson, spearman}});
  tasks.push_back({.name = "rte",
                   .title = "RTE",
                   .folders = {"RTE"},
                   .labels = kTwoWay,
                   .no_label = "",
                   .first = kSentence1,
                   .second = kSentence2,
                   .label = kLabel,
                   .headerless = {},
                   .train = kTrain,
                   .dev = kDev,
                   .test = test_file("RTE.tsv"),
                   .metrics = {accuracy}});
  tasks.push_back({.name = "qnli",
                   .title = "QNLI",
                   .folders = {"QNLI"},
                   .labels = kTwoWay,
                   .no_label = "",
                   .first = {"question", "sentence1"},
                   .second = {"sentence", "sentence2"},
                   .label = kLabel,
                   .headerless = {},
                   .train = kTrain,
                   .dev = kDev,
                   .test = test_file("QNLI.tsv"),
                   .metrics = {accuracy}});
  tasks.push_back({.name = "qqp",
                   .title = "QQP",
                   .folders = {"QQP"},
                   .labels = kYesNo,
                   .no_label = "",
                   .first = {"question1", "sentence1"},
                   .second = {"question2", "sentence2"},
                   .label = {"is_duplicate", "label"},
                   .headerless = {},
                   .train = kTrain,
                   .dev = kDev,
                   .test = test_file("QQP.tsv"),
                   .metrics = {f1, accuracy}});
  tasks.push_back({.name = "mrpc",
                   .title = "MRPC",
                   .folders = {"MRPC"},
                   .labels = kYesNo,
                   .no_label = "",
                   .first = {"#1 String", "sentence1"},
                   .second = {"#2 String", "sentence2"},
                   .label = {"Quality", "label"},
                   .headerless = {},
                   .train = kTrain,
                   .dev = kDev,
                   .test = test_file("MRPC.tsv"),
                   .metrics = {f1, accuracy}});
  tasks.push_back({.name = "cola",
                   .title = "CoLA",
                   .folders = {"CoLA"},
                   .labels = kYesNo,
                   .no_label = "",
                   .first = {"sentence"},
                   .second = {},
                   .label = kLabel,
                   .headerless = ColumnPlaces{.columns = 4, .first = 3, .label = 1},
                   .train = kTrain,
                   .dev = kDev,
                   .test = test_file("CoLA.tsv"),
                   .metrics = {matthews}});
  tasks.push_back({.name = "wnli",
                   .title = "WNLI",
                   .folders = {"WNLI"},
                   .labels = kYesNo,
                   .no_label = "",
                   .first = kSentence1,
                   .second = kSentence2,
                   .label = kLabel,
                   .headerless = {},
                   .train = kTrain,
                   .dev = kDev,
                   .test = test_file("WNLI.tsv"),
                   .metrics = {accuracy}});
  // The classes are those of MNLI, whose model it is for.
  tasks.push_back({.name = "ax",
                   .title = "AX",
                   .folders = {"AX", "diagnostic"},
                   .labels = kThreeWay,
                   .no_label = "",
                   .first = {"sentence1", "Premise"},
                   .second = {"sentence2", "Hypothesis"},
                   .label = {"label", "Label"},
                   .headerless = {},
                   .train = {},
                   .dev = {},
                   .test = {{"diagnostic.tsv", "", "AX.tsv"}},
                   .metrics = {matthews}});
  return tasks;
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
