// The figures that a GLUE task is told by.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/glue_tasks.h"

namespace skipless {

struct GlueScore {
  std::string name;  // "F1"; of a dev set with a suffix "accuracy_m"
  double value = 0;  // NaN where it is not defined, or a prediction is not finite
};

/// One for each of task.metrics, in their order. `predicted` and `labels` are classes, or of a regression numbers;
/// `suffix`: that of the file.
std::vector<GlueScore> glue_scores(const GlueTask& task, std::span<const double> predicted,
                                   std::span<const double> labels, std::string_view suffix);

/// Those of always predicting the commonest of `train_labels`, or of a regression their mean.
std::vector<GlueScore> majority_scores(const GlueTask& task, std::span<const double> train_labels,
                                       std::span<const double> labels, std::string_view suffix);

}  // namespace skipless
