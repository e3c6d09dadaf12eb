// The metrics of cases that stand on standard input, one JSON object a line, for tests/eval/compare_metrics.py:
//   {"predicted": [0, 1, ...], "labels": [1, 1, ...]}  ->  {"accuracy": A, "f1": F, "matthews": M}
//   {"x": [0.5, ...], "y": [1.0, ...]}                 ->  {"pearson": P, "spearman": S}
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/metrics.h"

int main() {
  using namespace skipless;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto given = nlohmann::json::parse(line);
    nlohmann::json values;
    if (given.contains("labels")) {
      const auto predicted = given["predicted"].get<std::vector<std::int64_t>>();
      const auto labels = given["labels"].get<std::vector<std::int64_t>>();
      values = {{"accuracy", accuracy(predicted, labels)},
                {"f1", f1_score(predicted, labels)},
                {"matthews", matthews_correlation(predicted, labels)}};
    } else {
      const auto x = given["x"].get<std::vector<double>>();
      const auto y = given["y"].get<std::vector<double>>();
      values = {{"pearson", pearson_correlation(x, y)}, {"spearman", spearman_correlation(x, y)}};
    }
    std::cout << values.dump() << '\n';  // NaN is null
  }
}
