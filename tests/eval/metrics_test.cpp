#include "eval/metrics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

using namespace skipless;

namespace {

// The sums are exact or nearly so: what is left is the rounding of a quotient and two roots.
constexpr double kRounding = 1e-15;

using Classes = std::vector<int64_t>;
using Values = std::vector<double>;

}  // namespace

TEST_CASE("accuracy, F1 and MCC are their formulas", "[metrics]") {
  const Classes labels = {1, 1, 1, 0, 0, 1, 0, 1};
  const Classes predicted = {1, 0, 1, 0, 1, 1, 0, 1};
  CHECK(accuracy(predicted, labels) == 0.75);
  CHECK(f1_score(predicted, labels) == Approx(2 * 4.0 / (2 * 4 + 1 + 1)).margin(kRounding));
  CHECK(matthews_correlation(predicted, labels) ==
        Approx((4 * 2 - 1 * 1) / std::sqrt(5.0 * 5 * 3 * 3)).margin(kRounding));
  CHECK(matthews_correlation(labels, labels) == Approx(1).margin(kRounding));
  CHECK(matthews_correlation(Classes{0, 1}, Classes{1, 0}) == Approx(-1).margin(kRounding));
}

TEST_CASE("one class alone gives MCC 0, and F1 0 without any positive", "[metrics]") {
  CHECK(matthews_correlation(Classes{1, 1, 1, 1}, Classes{1, 1, 1, 0}) == 0);
  CHECK(matthews_correlation(Classes{1, 0, 1}, Classes{1, 1, 1}) == 0);
  CHECK(matthews_correlation(Classes{2, 2, 2}, Classes{2, 2, 2}) == 0);
  CHECK(f1_score(Classes{0, 0}, Classes{0, 0}) == 0);
  CHECK(f1_score(Classes{0, 0}, Classes{0, 1}) == 0);
  CHECK(accuracy(Classes{0, 0}, Classes{0, 0}) == 1);
}

TEST_CASE("MCC of counts whose products no integer holds", "[metrics]") {
  Classes labels, predicted;
  const auto add = [&](int64_t label, int64_t prediction, int n) {
    for (int i = 0; i < n; ++i) labels.push_back(label), predicted.push_back(prediction);
  };
  add(1, 1, 100'000);
  add(0, 0, 100'000);
  add(0, 1, 20'000);
  add(1, 0, 20'000);
  CHECK(matthews_correlation(predicted, labels) == Approx(2.0 / 3).margin(kRounding));
}

TEST_CASE("what is constant has no correlation, and nothing has a metric when there is nothing", "[metrics]") {
  for (const auto correlation : {pearson_correlation, spearman_correlation}) {
    CHECK(std::isnan(correlation(Values{2, 2, 2}, Values{1, 2, 3})));
    // Whose mean is not 0.1 in binary.
    CHECK(std::isnan(correlation(Values{1, 2, 3}, Values{0.1, 0.1, 0.1})));
    CHECK(std::isnan(correlation(Values{1}, Values{1})));
    CHECK(std::isnan(correlation(Values{}, Values{})));
    CHECK(std::isnan(correlation(Values{1, NAN, 3}, Values{1, 2, 3})));
    CHECK(std::isnan(correlation(Values{1, 2, 3}, Values{1, std::numeric_limits<double>::infinity(), 3})));
    CHECK(correlation(Values{1, 2, 3}, Values{-2, -4, -6}) == Approx(-1).margin(kRounding));
  }
  CHECK(std::isnan(accuracy(Classes{}, Classes{})));
  CHECK(std::isnan(f1_score(Classes{}, Classes{})));
  CHECK(std::isnan(matthews_correlation(Classes{}, Classes{})));
}

TEST_CASE("correlations neither overflow nor drown in an offset", "[metrics]") {
  CHECK(pearson_correlation(Values{1e300, 2e300, 4e300}, Values{1e-300, 2e-300, 4e-300}) ==
        Approx(1).margin(kRounding));
  const Values x = {1, 2, 4, 3};
  const Values y = {2, 1, 4, 5};
  Values far = x;
  for (double& value : far) value += 1e9;  // all still exact
  CHECK(pearson_correlation(far, y) == Approx(pearson_correlation(x, y)).margin(kRounding));
  CHECK(spearman_correlation(Values{1, 10, 1000, 1e6}, Values{1, 2, 3, 4}) == Approx(1).margin(kRounding));
}

TEST_CASE("the metrics of the shared folder are as expected", "[metrics]") {
  const auto file = test::shared_folder() / "cases/metrics/EXPECTED.json";
  SKIPLESS_NEEDS(file);
  const auto cases = nlohmann::json::parse(test::read_all(file));
  // The expected values have as many digits as a double.
  constexpr double kDigits = 1e-12;
  for (const char* name : {"binary_mixed", "all_one_prediction"}) {
    const auto& wanted = cases[name];
    const auto labels = wanted["labels"].get<Classes>();
    const auto predicted = wanted["preds"].get<Classes>();
    CHECK(accuracy(predicted, labels) == Approx(wanted["acc"].get<double>()).margin(kDigits));
    CHECK(f1_score(predicted, labels) == Approx(wanted["f1"].get<double>()).margin(kDigits));
    CHECK(matthews_correlation(predicted, labels) == Approx(wanted["mcc"].get<double>()).margin(kDigits));
  }
  const auto& ties = cases["pearson_spearman_ties"];
  const auto x = ties["x"].get<Values>();
  const auto y = ties["y"].get<Values>();
  CHECK(pearson_correlation(x, y) == Approx(ties["pearson"].get<double>()).margin(kDigits));
  CHECK(spearman_correlation(x, y) == Approx(ties["spearman"].get<double>()).margin(kDigits));
}
