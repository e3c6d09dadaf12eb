// The fused attention of a CPU against the formula in float64, in every instruction set that the processor has.
#include <ATen/ops/equal.h>
#include <hwy/targets.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/fused_attention.h"
#include "models/shaped_attention.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;

namespace {

constexpr int64_t kHeads = 3;

/// Rounding of float32 in sums of some hundred terms of order 1; measured: below 1e-6.
constexpr double kFloat32 = 4e-6;

ShapedAttention random_attention(bool per_head) {
  ShapedAttentionConfig config;
  config.resolve_shaped();
  for (auto* gain : {&config.alpha, &config.beta, &config.gamma}) gain->per_head = per_head;
  ShapedAttention attention(config, kHeads, /*soft_cap=*/0);
  const torch::NoGradGuard no_grad;
  for (auto& gain : attention->parameters()) gain.add_(torch::randn_like(gain), 0.3);
  return attention;
}

/// [B, H, T, dh] in the memory layout of split heads.
torch::Tensor heads(int64_t batch, int64_t t, int64_t head_size) {
  return torch::randn({batch, t, kHeads, head_size}).transpose(1, 2);
}

/// Output, gradients of q, k, v, and of every gain: fused, or by the formula in float64.
std::vector<torch::Tensor> pass(ShapedAttention& attention, const std::vector<torch::Tensor>& inputs,
                                const AttentionMask& mask, const torch::Tensor& weights, bool fused) {
  attention->to(fused ? torch::kFloat : torch::kDouble);
  attention->zero_grad();
  std::vector<torch::Tensor> leaves;
  for (const auto& input : inputs) {
    leaves.push_back((fused ? input : input.to(torch::kDouble)).detach().requires_grad_());
  }
  REQUIRE((!fused || can_fuse(leaves[0], leaves[1], leaves[2], mask)));
  const auto out = fused ? attention->forward(leaves[0], leaves[1], leaves[2], mask)
                         : attention->plain(leaves[0], leaves[1], leaves[2], mask);
  (out * weights.to(out.scalar_type())).sum().backward();
  std::vector<torch::Tensor> results{out.detach()};
  for (const auto& leaf : leaves) results.push_back(leaf.grad());
  for (const auto& gain : attention->parameters()) results.push_back(gain.grad().clone());
  return results;
}

void compare(const std::vector<torch::Tensor>& fused, const std::vector<torch::Tensor>& plain, double tolerance) {
  REQUIRE(fused.size() == 7);
  // Gains are sums of everything, whose terms cancel: measured against the largest of them.
  double of_gains = 1;
  for (size_t i = 4; i < 7; ++i) of_gains = std::max(of_gains, plain[i].abs().max().item<double>());
  for (size_t i = 0; i < fused.size(); ++i) {
    INFO("result " << i);
    const double size = i < 4 ? std::max(1.0, plain[i].abs().max().item<double>()) : of_gains;
    CHECK((fused[i].to(torch::kDouble) - plain[i]).abs().max().item<double>() <= tolerance * size);
  }
}

AttentionMask padded_mask(bool causal, int64_t t, bool centre_over_all) {
  AttentionMask mask{.causal = causal, .kept = torch::ones({2, t}, torch::kBool)};
  mask.kept[1].slice(0, (t + 1) / 2) = false;
  mask.centre_over_all = centre_over_all;
  return mask;
}

}  // namespace

TEST_CASE("Fused attention equals the formula for any length, head size, mask and instruction set", "[fused]") {
  torch::manual_seed(3);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const auto& [t, head_size] : std::vector<std::pair<int64_t, int64_t>>{{1, 4}, {2, 1}, {25, 16}, {65, 80}}) {
      for (const int mask_kind : {0, 1, 2, 3, 4}) {
        INFO(hwy::TargetName(target) << ", T " << t << ", dh " << head_size << ", mask " << mask_kind);
        AttentionMask mask{.causal = mask_kind == 0};
        if (mask_kind >= 2) mask = padded_mask(mask_kind == 2, t, mask_kind == 4);
        auto attention = random_attention(/*per_head=*/t % 2 == 1);
        const std::vector<torch::Tensor> inputs{heads(2, t, head_size), heads(2, t, head_size), heads(2, t, head_size)};
        const auto weights = torch::randn({2, kHeads, t, head_size});
        compare(pass(attention, inputs, mask, weights, true), pass(attention, inputs, mask, weights, false), kFloat32);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("Fused attention of bfloat16 computes in float32 and rounds the gradients once", "[fused]") {
  // Half a unit of bfloat16's last place.
  constexpr double kRounding = 1.0 / 256;
  torch::manual_seed(4);
  auto attention = random_attention(true);
  std::vector<torch::Tensor> inputs{heads(2, 40, 16), heads(2, 40, 16), heads(2, 40, 16)};
  for (size_t i = 0; i < 2; ++i) inputs[i] = inputs[i].to(torch::kBFloat16);
  const auto weights = torch::randn({2, kHeads, 40, 16});
  const auto fused = pass(attention, inputs, {}, weights, true);
  const auto plain = pass(attention, inputs, {}, weights, false);
  CHECK(fused[0].scalar_type() == torch::kFloat);
  CHECK(fused[1].scalar_type() == torch::kBFloat16);
  CHECK(fused[3].scalar_type() == torch::kFloat);
  compare({fused[0], plain[1], plain[2], fused[3], fused[4], fused[5], fused[6]}, plain, kFloat32);
  for (const size_t i : {1, 2}) {
    const auto difference = (fused[i].to(torch::kDouble) - plain[i]).abs();
    CHECK(at::le(difference, plain[i].abs() * kRounding + kFloat32).all().item<bool>());
  }
}

TEST_CASE("Fused attention is exactly the identity where A is C and beta is gamma", "[fused]") {
  torch::manual_seed(5);
  ShapedAttentionConfig config;
  config.resolve_shaped();
  ShapedAttention attention(config, kHeads, 0);
  const auto v = heads(2, 90, 16);
  const auto zero = torch::zeros_like(v);
  for (const bool causal : {true, false}) {
    CHECK(attention->forward(zero, heads(2, 90, 16), v, {.causal = causal}).equal(v));
    CHECK(attention->forward(zero, heads(2, 90, 16), v, padded_mask(causal, 90, false))
              .slice(0, 0, 1)
              .equal(v.slice(0, 0, 1)));
  }
}

TEST_CASE("A sequence without a single kept key has finite results and no gradient of its scores", "[fused]") {
  torch::manual_seed(6);
  auto attention = random_attention(true);
  AttentionMask mask{.causal = false, .kept = torch::ones({2, 9}, torch::kBool)};
  mask.kept[1] = false;
  const std::vector<torch::Tensor> inputs{heads(2, 9, 8), heads(2, 9, 8), heads(2, 9, 8)};
  const auto results = pass(attention, inputs, mask, torch::randn({2, kHeads, 9, 8}), true);
  for (const auto& result : results) CHECK(result.isfinite().all().item<bool>());
  CHECK(at::equal(results[1][1], torch::zeros_like(results[1][1])));
  CHECK(at::equal(results[2][1], torch::zeros_like(results[2][1])));
}

TEST_CASE("What is not finite shows behind fused attention as behind the formula", "[fused]") {
  torch::manual_seed(7);
  auto attention = random_attention(true);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const size_t place : {0, 1, 2}) {
      INFO("input " << place << ", value " << bad);
      std::vector<torch::Tensor> inputs{heads(1, 20, 8), heads(1, 20, 8), heads(1, 20, 8)};
      inputs[place].index_put_({0, 1, 4, 3}, bad);
      const auto fused = attention->forward(inputs[0], inputs[1], inputs[2], {}).isfinite();
      CHECK(fused.equal(attention->plain(inputs[0], inputs[1], inputs[2], {}).isfinite()));
      CHECK_FALSE(fused.all().item<bool>());
    }
  }
}

TEST_CASE("Very large scores neither overflow nor lose the largest", "[fused]") {
  torch::manual_seed(8);
  auto attention = random_attention(true);
  std::vector<torch::Tensor> inputs{heads(2, 30, 8) * 40, heads(2, 30, 8) * 40, heads(2, 30, 8)};
  const auto weights = torch::randn({2, kHeads, 30, 8});
  const auto fused = pass(attention, inputs, {}, weights, true);
  const auto plain = pass(attention, inputs, {}, weights, false);
  // A score of some thousand has 4 decimals in float32, and so has the logarithm of a probability.
  CHECK((fused[0].to(torch::kDouble) - plain[0]).abs().max().item<double>() < 1e-2);
  for (const auto& result : fused) CHECK(result.isfinite().all().item<bool>());
}
