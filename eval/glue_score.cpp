#include "eval/glue_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>

#include "eval/metrics.h"

namespace skipless {
namespace {

std::vector<int64_t> classes_of(std::span<const double> values) {
  std::vector<int64_t> classes;
  classes.reserve(values.size());
  for (const double value : values) classes.push_back(static_cast<int64_t>(value));
  return classes;
}

double value_of(GlueMetric metric, std::span<const double> predicted, std::span<const double> labels) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(predicted.begin(), predicted.end(), is_finite)) return std::numeric_limits<double>::quiet_NaN();
  switch (metric) {
    case GlueMetric::accuracy:
      return accuracy(classes_of(predicted), classes_of(labels));
    case GlueMetric::f1:
      return f1_score(classes_of(predicted), classes_of(labels));
    case GlueMetric::matthews:
      return matthews_correlation(classes_of(predicted), classes_of(labels));
    case GlueMetric::pearson:
      return pearson_correlation(predicted, labels);
    case GlueMetric::spearman:
      break;
  }
  return spearman_correlation(predicted, labels);
}

}  // namespace

std::vector<GlueScore> glue_scores(const GlueTask& task, std::span<const double> predicted,
                                   std::span<const double> labels, std::string_view suffix) {
  std::vector<GlueScore> scores;
  for (const auto metric : task.metrics) {
    const auto name = suffix.empty() ? std::string(name_of(metric)) : fmt::format("{}_{}", name_of(metric), suffix);
    scores.push_back({.name = name, .value = value_of(metric, predicted, labels)});
  }
  return scores;
}

std::vector<GlueScore> majority_scores(const GlueTask& task, std::span<const double> train_labels,
                                       std::span<const double> labels, std::string_view suffix) {
  double constant = 0;
  if (task.is_regression()) {
    constant = std::reduce(train_labels.begin(), train_labels.end()) / static_cast<double>(train_labels.size());
  } else {
    std::map<double, size_t> counts;
    for (const double label : train_labels) ++counts[label];
    for (const auto& [label, count] : counts) {
      if (count > counts[constant]) constant = label;
    }
  }
  return glue_scores(task, std::vector<double>(labels.size(), constant), labels, suffix);
}

}  // namespace skipless
