#include "eval/analysis/ranks.h"

#include <ATen/ops/diag.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ger.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/utils.h>

#include <cmath>

#include "eval/analysis/spectra.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

/// A singular value decomposition in float64 of matrices of order 1.
constexpr double kRounding = 1e-13;

auto near(double value) {
  return Approx(value).epsilon(kRounding);
}

struct Ranks {
  double stable, effective;
};

Ranks ranks_of(const at::Tensor& m) {
  const auto s = singular_values(m);
  return {.stable = stable_rank(s).item<double>(), .effective = effective_rank(s).item<double>()};
}

at::Tensor values(at::ArrayRef<double> list) {
  return at::tensor(list, at::kDouble);
}

}  // namespace

TEST_CASE("singular values are those of a diagonal matrix without signs, the largest first", "[analysis]") {
  const auto s = singular_values(at::diag(values({3, -5, 1})));
  CHECK((s - values({5, 3, 1})).abs().max().item<double>() < kRounding);
  // [2, 3] has two: those of its rows, which are orthogonal.
  const auto wide = at::stack({values({0, 3, 0}), values({4, 0, 0})});
  CHECK((singular_values(wide) - values({4, 3})).abs().max().item<double>() < kRounding);
}

TEST_CASE("both ranks are n for orthogonal matrices and 1 for rank one", "[analysis]") {
  torch::manual_seed(1);
  const auto orthogonal = std::get<0>(at::linalg_qr(at::randn({7, 7}, at::kDouble)));
  for (const auto& m : {at::eye(7, at::kDouble), 0.02 * orthogonal}) {
    CHECK(ranks_of(m).stable == near(7));
    CHECK(ranks_of(m).effective == near(7));
  }
  const auto rank_one = at::ger(at::randn({6}, at::kDouble), at::randn({9}, at::kDouble));
  CHECK(ranks_of(rank_one).stable == near(1));
  // What rounding leaves of the other singular values counts as p ln p: 1e-16 * 37 each.
  CHECK(ranks_of(rank_one).effective == Approx(1).epsilon(1e-12));
}

TEST_CASE("ranks of a diagonal matrix are their formulas", "[analysis]") {
  const auto ranks = ranks_of(at::diag(values({2, -4, 2})));
  CHECK(ranks.stable == near(24.0 / 16));
  // p = 1/2, 1/4, 1/4: the entropy is 3/2 ln 2.
  CHECK(ranks.effective == near(std::pow(2, 1.5)));
}

TEST_CASE("ranks do not depend on the scale, down to where squares underflow", "[analysis]") {
  const auto s = values({4, 2, 2});
  for (const double factor : {1e-200, 1e200}) {
    CHECK(stable_rank(factor * s).item<double>() == near(1.5));
    CHECK(effective_rank(factor * s).item<double>() == near(std::pow(2, 1.5)));
  }
}

TEST_CASE("ranks of several matrices are theirs, and those of zeros are not defined", "[analysis]") {
  const auto m = at::stack({at::eye(3, at::kDouble), at::zeros({3, 3}, at::kDouble), at::diag(values({1, 1, 0}))});
  const auto s = singular_values(m);
  for (const auto& ranks : {stable_rank(s), effective_rank(s)}) {
    CHECK(ranks[0].item<double>() == near(3));
    CHECK(std::isnan(ranks[1].item<double>()));
    CHECK(ranks[2].item<double>() == near(2));
  }
}

}  // namespace skipless
