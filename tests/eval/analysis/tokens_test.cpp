// Numbers of tokens and of the rows of attention: similarity, covariance, outlier kurtosis, entropy.
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/utils.h>

#include <cmath>

#include "eval/analysis/attention_entropy.h"
#include "eval/analysis/outlier_kurtosis.h"
#include "eval/analysis/token_similarity.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

/// Sums of a few float64 numbers of order 1.
constexpr double kRounding = 1e-13;

auto near(double value) {
  return Approx(value).epsilon(kRounding).margin(kRounding);
}

}  // namespace

TEST_CASE("similarity and covariance are the means over all pairs of different tokens", "[analysis]") {
  torch::manual_seed(1);
  const auto x = at::randn({2, 6, 4}, at::kDouble) + 0.5;
  for (int64_t b = 0; b < 2; ++b) {
    double cosines = 0, products = 0;
    for (int64_t i = 0; i < 6; ++i) {
      for (int64_t j = 0; j < 6; ++j) {
        if (i == j) continue;
        const double product = (x[b][i] * x[b][j]).sum().item<double>();
        products += product / 4;
        cosines += product / (x[b][i].norm() * x[b][j].norm()).item<double>();
      }
    }
    CHECK(token_similarity(x)[b].item<double>() == near(cosines / 30));
    CHECK(token_covariance(x)[b].item<double>() == near(products / 30));
  }
}

TEST_CASE("similarity is 1 for tokens of one direction, 0 for orthogonal ones", "[analysis]") {
  const auto lengths = at::tensor({1.0, 2.0, 5.0}, at::kDouble).unsqueeze(-1);
  const auto collapsed = lengths * at::tensor({0.3, -2.0}, at::kDouble);
  CHECK(token_similarity(collapsed).item<double>() == near(1));
  CHECK(token_similarity(lengths * at::eye(3, at::kDouble)).item<double>() == near(0));
  CHECK(token_similarity(at::cat({collapsed.slice(0, 0, 1), -collapsed.slice(0, 0, 1)})).item<double>() == near(-1));
}

TEST_CASE("outlier kurtosis is 1 for channels of one size, and their number for a single one", "[analysis]") {
  const auto even = at::stack({at::full({5}, 2.0, at::kDouble), at::full({5}, -2.0, at::kDouble)});
  CHECK(outlier_kurtosis(even).item<double>() == near(1));
  auto single = at::zeros({3, 2, 5}, at::kDouble);
  single.select(-1, 3).fill_(7);
  CHECK(outlier_kurtosis(single).item<double>() == near(5));
  // Mean squares of the channels 1, 4 and 9: (1 + 16 + 81)/3 / (14/3)^2.
  const auto x =
      at::stack({at::tensor({1.0, 0.0, 3.0}, at::kDouble), at::tensor({1.0, std::sqrt(8.0), -3.0}, at::kDouble)});
  CHECK(outlier_kurtosis(x).item<double>() == near(98.0 / 3 / (14.0 / 3 * 14.0 / 3)));
}

TEST_CASE("entropy is ln n for equal weights over n keys and 0 for one key", "[analysis]") {
  const auto a = at::tensor({1.0, 0.0, 0.0, 0.0, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0.0, 0.0}, at::kDouble).view({3, 4});
  const auto entropy = row_entropy(a);
  CHECK(entropy[0].item<double>() == near(0));
  CHECK(entropy[1].item<double>() == near(std::log(4)));
  CHECK(entropy[2].item<double>() == near(std::log(2)));
}

TEST_CASE("the share of the entropy is that of equal weights, over rows that have a choice", "[analysis]") {
  const auto causal = at::ones({4, 4}, at::kDouble).tril();
  const auto c = causal / causal.sum(-1, /*keepdim=*/true);
  const auto visible = at::tensor({1, 2, 3, 4}, at::kLong);
  const auto one = at::eye(4, at::kDouble);
  const auto shares = entropy_share(row_entropy(at::stack({c, one, (c + one) / 2})), visible);
  CHECK(shares[0].item<double>() == near(1));
  CHECK(shares[1].item<double>() == near(0));
  // Row i of the last: 1/2 + 1/(2n) on one key, 1/(2n) on n - 1 others.
  double sum = 0;
  for (const double n : {2.0, 3.0, 4.0}) {
    const double own = 0.5 + 0.5 / n, other = 0.5 / n;
    sum -= (own * std::log(own) + (n - 1) * other * std::log(other)) / std::log(n);
  }
  CHECK(shares[2].item<double>() == near(sum / 3));
  CHECK(std::isnan(entropy_share(row_entropy(at::ones({1, 1}, at::kDouble)), at::ones({1}, at::kLong)).item<double>()));
}

}  // namespace skipless
