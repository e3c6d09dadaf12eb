#include "eval/glue_score.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

using namespace skipless;

namespace {

using Values = std::vector<double>;

std::vector<std::string> names_of(const std::vector<GlueScore>& scores) {
  std::vector<std::string> names;
  for (const auto& score : scores) names.push_back(score.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("each task is scored by its convention", "[glue][metrics]") {
  const Values predicted = {1, 0, 1, 1};
  const Values labels = {1, 0, 0, 1};
  const auto scores = [&](const char* task, const char* suffix = "") {
    return glue_scores(glue_task(task), predicted, labels, suffix);
  };
  CHECK(names_of(scores("cola")) == Names{"MCC"});
  CHECK(names_of(scores("mrpc")) == Names{"F1", "accuracy"});
  CHECK(names_of(scores("qqp")) == Names{"F1", "accuracy"});
  CHECK(names_of(scores("stsb")) == Names{"Pearson", "Spearman"});
  CHECK(names_of(scores("mnli", "mm")) == Names{"accuracy_mm"});
  for (const char* task : {"sst2", "qnli", "rte", "wnli"}) CHECK(names_of(scores(task)) == Names{"accuracy"});
  CHECK(scores("mrpc")[0].value == Approx(0.8));
  CHECK(scores("mrpc")[1].value == 0.75);
  CHECK(scores("cola")[0].value == Approx(2 / std::sqrt(3.0 * 2 * 1 * 2)));
}

TEST_CASE("the commonest label is the one of the training set, and a constant has no correlation", "[glue][metrics]") {
  const auto mrpc = majority_scores(glue_task("mrpc"), Values{1, 1, 0}, Values{0, 0, 1, 1}, "");
  CHECK(mrpc[1].value == 0.5);
  CHECK(mrpc[0].value == Approx(2.0 / 3));
  const auto rte = majority_scores(glue_task("rte"), Values{1, 0, 0}, Values{0, 0, 0, 1}, "");
  CHECK(rte[0].value == 0.75);
  CHECK(majority_scores(glue_task("cola"), Values{1, 1, 0}, Values{0, 1}, "")[0].value == 0);
  CHECK(std::isnan(majority_scores(glue_task("stsb"), Values{1, 3}, Values{0, 1}, "")[0].value));
}
