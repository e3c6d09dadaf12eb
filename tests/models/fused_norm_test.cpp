// The fused norms of a CPU against their formulas in float64, in every instruction set that the processor has.
#include "models/kernels/targets.h"
// Behind it:
#include <hwy/targets.h>

#include "models/fused_norm.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "models/norm.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

/// Rounding of float32 in sums of some hundred terms of order 1.
constexpr double kFloat32 = 4e-6;
/// Half a unit of bfloat16's last place.
constexpr double kBFloat16 = 1.0 / 256;

constexpr double kEps = 1e-3;

struct Pass {
  torch::Tensor y;
  std::vector<torch::Tensor> gradients;  // x, scale, shift
};

Pass passed(const torch::Tensor& y, const torch::Tensor& weights, std::vector<torch::Tensor> leaves) {
  (y * weights.to(y.scalar_type())).sum().backward();
  Pass pass{.y = y.detach(), .gradients = {}};
  for (const auto& leaf : leaves) pass.gradients.push_back(leaf.grad());
  return pass;
}

torch::Tensor leaf_of(const torch::Tensor& values, torch::ScalarType type) {
  return values.to(type).detach().requires_grad_();
}

/// The formulas, written out in float64.
Pass plain(const torch::Tensor& x_in, const torch::Tensor& scale_in, const torch::Tensor& shift_in, bool is_layer_norm,
           const torch::Tensor& weights) {
  const auto x = leaf_of(x_in, torch::kDouble), scale = leaf_of(scale_in, torch::kDouble);
  const auto shift = is_layer_norm ? leaf_of(shift_in, torch::kDouble) : torch::Tensor();
  const auto centred = is_layer_norm ? x - x.mean(-1, true) : x;
  const auto mean_square = centred.square().mean(-1, true);
  const auto n = is_layer_norm ? centred / (mean_square + kEps).sqrt() : centred / (mean_square.sqrt() + kEps);
  const auto y = is_layer_norm ? scale * n + shift : scale * n;
  return is_layer_norm ? passed(y, weights, {x, scale, shift}) : passed(y, weights, {x, scale});
}

Pass fused(const torch::Tensor& x_in, const torch::Tensor& scale_in, const torch::Tensor& shift_in, bool is_layer_norm,
           const torch::Tensor& weights, torch::ScalarType x_type, torch::ScalarType result) {
  const auto x = leaf_of(x_in, x_type), scale = leaf_of(scale_in, torch::kFloat);
  const auto shift = is_layer_norm ? leaf_of(shift_in, torch::kFloat) : torch::Tensor();
  const auto y = fused_norm({.eps = kEps, .is_layer_norm = is_layer_norm, .result = result}, x, scale, shift);
  return is_layer_norm ? passed(y, weights, {x, scale, shift}) : passed(y, weights, {x, scale});
}

double error_of(const torch::Tensor& ours, const torch::Tensor& exact) {
  const double size = std::max(1.0, exact.abs().max().item<double>());
  return (ours.to(torch::kDouble) - exact).abs().max().item<double>() / size;
}

}  // namespace

TEST_CASE("Fused norms equal their formulas for any width and instruction set", "[fused][norm]") {
  torch::manual_seed(21);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const int64_t width : {1, 2, 15, 16, 33, 128, 384}) {
      for (const bool is_layer_norm : {false, true}) {
        INFO(hwy::TargetName(target) << ", width " << width << ", layer norm " << is_layer_norm);
        const auto x = torch::randn({3, 67, width}) * 2 + 0.5, scale = torch::randn({width}),
                   shift = torch::randn({width});
        const auto weights = torch::randn({3, 67, width});
        const auto ours = fused(x, scale, shift, is_layer_norm, weights, torch::kFloat, torch::kFloat);
        const auto exact = plain(x, scale, shift, is_layer_norm, weights);
        // Of two values LayerNorm takes the sign of their difference, which may be small.
        const double tolerance = width < 15 ? 8 * kFloat32 : kFloat32;
        CHECK(error_of(ours.y, exact.y) <= tolerance);
        REQUIRE(ours.gradients.size() == exact.gradients.size());
        for (size_t i = 0; i < ours.gradients.size(); ++i)
          CHECK(error_of(ours.gradients[i], exact.gradients[i]) <= tolerance);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("Fused norms of bfloat16 compute in float32 and round once", "[fused][norm]") {
  torch::manual_seed(22);
  for (const bool is_layer_norm : {false, true}) {
    const auto x = torch::randn({40, 48}).to(torch::kBFloat16), scale = torch::randn({48}), shift = torch::randn({48});
    const auto weights = torch::randn({40, 48}).to(torch::kBFloat16);
    const auto exact = plain(x, scale, shift, is_layer_norm, weights.to(torch::kDouble));
    const auto ours = fused(x, scale, shift, is_layer_norm, weights, torch::kBFloat16, torch::kBFloat16);
    CHECK(ours.y.scalar_type() == torch::kBFloat16);
    CHECK(ours.gradients[0].scalar_type() == torch::kBFloat16);
    CHECK(ours.gradients[1].scalar_type() == torch::kFloat);
    const auto is_rounded = [](const torch::Tensor& of, const torch::Tensor& value) {
      const auto difference = (of.to(torch::kDouble) - value).abs();
      return at::le(difference, value.abs() * kBFloat16 + kFloat32).all().item<bool>();
    };
    CHECK(is_rounded(ours.y, exact.y));
    CHECK(is_rounded(ours.gradients[0], exact.gradients[0]));
    for (size_t i = 1; i < ours.gradients.size(); ++i)
      CHECK(error_of(ours.gradients[i], exact.gradients[i]) <= kFloat32);
  }
}

TEST_CASE("A fused RMSNorm is the plain one, on rows of zeros and in what is not finite", "[fused][norm]") {
  torch::manual_seed(23);
  RmsNormImpl norm(8, 1e-5);
  randomise(norm);
  for (const float value : {0.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    INFO(value);
    auto x = torch::randn({3, 8});
    x[1].fill_(value);
    std::vector<torch::Tensor> gradients;
    for (const bool is_plain : {false, true}) {
      const auto leaf = leaf_of(x, torch::kFloat);
      const auto y = is_plain ? norm.plain(leaf) : norm.forward(leaf);
      CHECK(y.isfinite().equal(norm.plain(leaf).isfinite()));
      y.sum().backward();
      gradients.push_back(leaf.grad());
    }
    CHECK(gradients[0].isfinite().equal(gradients[1].isfinite()));
    CHECK(at::allclose(gradients[0][0], gradients[1][0], 1e-5, 1e-6));
    if (value == 0) CHECK(at::allclose(gradients[0][1], gradients[1][1], 1e-5, 0));
  }
}
