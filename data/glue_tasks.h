// The tasks of GLUE in one table: where their files are, what their columns are called, what their labels mean and how
// they are scored. Everything that knows a task by name knows it from here.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skipless {

enum class GlueMetric { accuracy, f1, matthews, pearson, spearman };
/// "accuracy", "F1", "MCC", "Pearson", "Spearman".
std::string_view name_of(GlueMetric metric);

enum class GlueSplit { train, dev, test };

/// One file of a split.
struct GlueFile {
  std::string_view name;             // "dev_matched.tsv"
  std::string_view suffix = {};      // "m", where a split has two files
  std::string_view submission = {};  // of a test file: "MNLI-m.tsv"
};

/// Names that a column has, the first one that a header has being it.
using ColumnNames = std::vector<std::string_view>;

/// Columns, from 0, of a file without a header.
struct ColumnPlaces {
  std::size_t columns = 0;
  std::size_t first = 0;
  std::size_t label = 0;
};

/// What is written here is what most of the tasks have.
struct GlueTask {
  std::string_view name;   // "cola", as on the command line
  std::string_view title;  // "CoLA", as in the paper
  std::vector<std::string_view> folders = {title};

  /// Names of the classes as the files and the leaderboard spell them; the place of a name is its class. None: a
  /// regression on [low, high].
  std::vector<std::string_view> labels = {"0", "1"};
  double low = 0;
  double high = 0;
  /// What stands in the place of a label that the annotators did not agree on; "": there is no such thing.
  std::string_view no_label = {};

  ColumnNames first = {"sentence1"};   // the sentence, or the first one of a pair
  ColumnNames second = {"sentence2"};  // none: single sentences
  ColumnNames label = {"label"};
  std::optional<ColumnPlaces> headerless = {};  // of train and dev files that have no header

  std::vector<GlueFile> train = {{"train.tsv"}};
  std::vector<GlueFile> dev = {{"dev.tsv"}};
  std::vector<GlueFile> test = {};
  std::vector<GlueMetric> metrics = {GlueMetric::accuracy};  // the first one decides which checkpoint is best

  bool is_regression() const { return labels.empty(); }
  bool is_pair() const { return !second.empty(); }
  const std::vector<GlueFile>& files(GlueSplit split) const;
};

/// In the order of the paper's Table 2, then WNLI and the diagnostic set AX, which has no training data.
std::span<const GlueTask> glue_tasks();

/// Capitals and '-' mean nothing: "SST-2" is "sst2". UserError naming the tasks that there are.
const GlueTask& glue_task(std::string_view name);

}  // namespace skipless
