// The fused sum of gained branches against the formula in float64, in every instruction set that the processor has.
#include "models/kernels/targets.h"
// Behind it:
#include <hwy/targets.h>

#include "models/fused_gains.h"

#include <ATen/ops/randn.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;

namespace {

constexpr double kFloat32 = 4e-6;
constexpr double kBFloat16 = 1.0 / 256;

torch::Tensor leaf_of(const torch::Tensor& values, torch::ScalarType type) {
  return values.to(type).detach().requires_grad_();
}

/// The sum and the gradients of a, x, b, y, of which the first two may be missing.
std::vector<torch::Tensor> pass(const std::vector<torch::Tensor>& leaves, const torch::Tensor& weights, bool fused) {
  const auto &a = leaves[0], &x = leaves[1], &b = leaves[2], &y = leaves[3];
  const auto out = fused ? fused_gained_sum(a, x, b, y) : x.defined() ? a * x + b * y : b * y;
  (out * weights.to(out.scalar_type())).sum().backward();
  std::vector<torch::Tensor> results{out.detach()};
  for (const auto& leaf : leaves) results.push_back(leaf.defined() ? leaf.grad() : leaf);
  return results;
}

}  // namespace

TEST_CASE("A fused gained sum equals the formula for any width, type and instruction set", "[fused][gains]") {
  torch::manual_seed(31);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const int64_t width : {1, 15, 16, 100, 384}) {
      for (const bool with_x : {true, false}) {
        for (const auto& [x_type, y_type] : {std::pair{torch::kFloat, torch::kFloat},
                                             {torch::kFloat, torch::kBFloat16},
                                             {torch::kBFloat16, torch::kBFloat16}}) {
          INFO(hwy::TargetName(target) << ", width " << width << ", x " << with_x << ", " << x_type << ", " << y_type);
          std::vector<torch::Tensor> leaves{
              leaf_of(torch::randn({1}), torch::kFloat), leaf_of(torch::randn({2, 40, width}), x_type),
              leaf_of(torch::randn({1}), torch::kFloat), leaf_of(torch::randn({2, 40, width}), y_type)};
          if (!with_x) leaves[0] = leaves[1] = torch::Tensor();
          const auto weights = torch::randn({2, 40, width});
          const auto ours = pass(leaves, weights, true);
          std::vector<torch::Tensor> exact_leaves;
          for (const auto& leaf : leaves) exact_leaves.push_back(leaf.defined() ? leaf_of(leaf, torch::kDouble) : leaf);
          const auto exact = pass(exact_leaves, weights, false);
          CHECK(ours[0].scalar_type() == torch::kFloat);
          for (size_t i = 0; i < ours.size(); ++i) {
            REQUIRE(ours[i].defined() == exact[i].defined());
            if (!ours[i].defined()) continue;
            INFO("result " << i);
            // A gain's gradient is a sum of everything; the others stand alone, rounded to their type.
            const double size = i == 1 || i == 3 ? std::sqrt(static_cast<double>(weights.numel())) : 1;
            const double rounding = ours[i].scalar_type() == torch::kBFloat16 ? kBFloat16 : kFloat32;
            const auto difference = (ours[i].to(torch::kDouble) - exact[i]).abs();
            CHECK(at::le(difference, exact[i].abs() * rounding + kFloat32 * size).all().item<bool>());
          }
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("A gain's gradient of a long sum that nearly cancels is right", "[fused][gains]") {
  torch::manual_seed(32);
  const int64_t rows = 2048, width = 384;
  const auto g = torch::randn({rows, width});
  // Orthogonal to g but for a thousandth.
  auto y = torch::randn({rows, width}, torch::kDouble);
  const auto g_exact = g.to(torch::kDouble);
  y = y - g_exact * ((y * g_exact).sum() / g_exact.square().sum() - 1e-3);
  const std::vector<torch::Tensor> leaves{{}, {}, leaf_of(torch::ones({1}), torch::kFloat), leaf_of(y, torch::kFloat)};
  const auto ours = pass(leaves, g, true);
  const double exact = (leaves[3].detach().to(torch::kDouble) * g_exact).sum().item<double>();
  CHECK(ours[3].item<double>() == Approx(exact).epsilon(1e-4));
}
