#include "train/glue_submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "configs/error.h"

namespace skipless {

std::string submission_text(const GlueTask& task, std::span<const int64_t> indices, std::span<const double> predicted) {
  std::string text = "index\tprediction\n";
  for (size_t i = 0; i < predicted.size(); ++i) {
    if (!std::isfinite(predicted[i])) {
      throw RunError(fmt::format("{}: the model's output for example {} is not finite", task.title, indices[i]));
    }
    text += task.is_regression() ? fmt::format("{}\t{}\n", indices[i], std::clamp(predicted[i], task.low, task.high))
                                 : fmt::format("{}\t{}\n", indices[i], task.labels[static_cast<size_t>(predicted[i])]);
  }
  return text;
}

}  // namespace skipless
