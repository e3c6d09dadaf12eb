// The fused attention of a CPU against the formula in float64, in every instruction set that the processor has.
#include "models/kernels/targets.h"
// Behind it:
#include <hwy/targets.h>

#include <ATen/ops/equal.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <chrono>
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

/// sum_j |P_ij V_j| without P's diagonal, and the same of the gradients of q, k and v, in float64.
std::vector<torch::Tensor> largest_sums(ShapedAttention& attention, const std::vector<torch::Tensor>& inputs,
                                        const AttentionMask& mask, const torch::Tensor& grad_out) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> x;
  for (const auto& input : inputs) x.push_back(input.to(torch::kDouble));
  const int64_t t = x[0].size(2);
  const double scale = 1 / std::sqrt(static_cast<double>(x[0].size(3)));
  const auto ones = torch::eye(t, torch::kDouble).expand({2, kHeads, t, t});
  // The formula gives P itself where V is the identity.
  const auto gains = attention->named_parameters();
  const auto alpha = gains["alpha.value"], beta = gains["beta.value"], gamma = gains["gamma.value"];
  const auto old_alpha = alpha.clone(), old_gamma = gamma.clone();
  alpha.zero_();
  const auto off_diagonal = attention->plain(x[0], x[1], ones, mask).abs();
  gamma.zero_();
  const auto beta_a = attention->plain(x[0], x[1], ones, mask);
  alpha.copy_(old_alpha);
  gamma.copy_(old_gamma);
  const auto g = grad_out.to(torch::kDouble);
  const auto grad_p = g.matmul(x[2].transpose(-1, -2));
  const auto mean = (grad_p * beta_a).sum(-1, true) / beta;
  const auto grad_s = (beta_a * (grad_p - mean)).abs();
  return {off_diagonal.matmul(x[2].abs()), scale * grad_s.matmul(x[1].abs()),
          scale * grad_s.transpose(-1, -2).matmul(x[0].abs()), off_diagonal.transpose(-1, -2).matmul(g.abs())};
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

TEST_CASE("Fused attention of bfloat16 heads is off by the rounding of its factors and no more", "[fused]") {
  // Half a unit of bfloat16's last place.
  constexpr double kRounding = 1.0 / 256;
  torch::manual_seed(5);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const auto& [t, head_size] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {40, 16}, {67, 20}, {33, 7}, {300, 80}}) {
      for (const int mask_kind : {0, 1, 3, 4}) {
        INFO(hwy::TargetName(target) << ", T " << t << ", dh " << head_size << ", mask " << mask_kind);
        AttentionMask mask{.causal = mask_kind == 0};
        if (mask_kind >= 3) mask = padded_mask(false, t, mask_kind == 4);
        auto attention = random_attention(true);
        std::vector<torch::Tensor> inputs;
        for (int i = 0; i < 3; ++i) inputs.push_back(heads(2, t, head_size).to(torch::kBFloat16));
        const auto weights = torch::randn({2, kHeads, t, head_size}).to(torch::kBFloat16);
        const auto fused = pass(attention, inputs, mask, weights, true);
        const auto plain = pass(attention, inputs, mask, weights.to(torch::kDouble), false);
        // With every term of the products of P and dS positive: what their roundings can amount to.
        const auto largest = largest_sums(attention, inputs, mask, weights);
        for (size_t i = 0; i < 4; ++i) {
          INFO("result " << i);
          CHECK(fused[i].scalar_type() == torch::kBFloat16);
          const auto difference = (fused[i].to(torch::kDouble) - plain[i]).abs();
          CHECK(at::le(difference, (plain[i].abs() + largest[i]) * kRounding + kFloat32).all().item<bool>());
        }
        compare({plain[0], plain[1], plain[2], plain[3], fused[4], fused[5], fused[6]}, plain, kFloat32);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("Fused attention with dropout equals the formula with the entries of A that it drops", "[fused][dropout]") {
  constexpr double kP = 0.3;
  constexpr int64_t kT = 40;
  torch::manual_seed(9);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const int mask_kind : {0, 1, 3}) {
      INFO(hwy::TargetName(target) << ", mask " << mask_kind);
      AttentionMask mask{.causal = mask_kind == 0};
      if (mask_kind >= 2) mask = padded_mask(false, kT, false);
      auto attention = random_attention(true);
      const std::vector<torch::Tensor> inputs{heads(2, kT, 16), heads(2, kT, 16), heads(2, kT, 16)};
      const auto weights = torch::randn({2, kHeads, kT, 16});
      const auto gains = attention->parameters();  // alpha, beta, gamma
      const auto dropped = [&](const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const HeadGainTensors& of) {
        torch::manual_seed(77);  // the same M each time
        return fused_attention(q, k, v, of, mask, kP);
      };
      // P = M A, with A = C known, on the unit vectors.
      const auto zero = torch::zeros({2, kHeads, kT, kT}), one = torch::ones({1});
      const auto c = attention->softmax_matrix(zero, zero, mask);
      const auto m = (dropped(zero, zero, torch::eye(kT).expand({2, kHeads, kT, kT}), {0 * one, one, 0 * one}) / c)
                         .masked_fill(c == 0, 0)
                         .to(torch::kDouble);
      const auto seen = m.masked_select(c > 0);
      CHECK(at::logical_or(seen == 0, (seen - 1 / (1 - kP)).abs() < 1e-6).all().item<bool>());

      std::vector<std::vector<torch::Tensor>> results;
      for (const bool fused : {true, false}) {
        attention->to(fused ? torch::kFloat : torch::kDouble);
        attention->zero_grad();
        std::vector<torch::Tensor> x;
        for (const auto& input : inputs) {
          x.push_back((fused ? input : input.to(torch::kDouble)).detach().requires_grad_());
        }
        const auto formula = [&] {
          const auto a = attention->softmax_matrix(x[0], x[1], mask);
          return at::matmul(
              gains[0] * torch::eye(kT, torch::kDouble) + gains[1] * (m * a) - gains[2] * c.to(torch::kDouble), x[2]);
        };
        const auto out = fused ? dropped(x[0], x[1], x[2], {gains[0], gains[1], gains[2]}) : formula();
        (out * weights.to(out.scalar_type())).sum().backward();
        auto& result = results.emplace_back();
        result.push_back(out.detach());
        for (const auto& leaf : x) result.push_back(leaf.grad());
        for (const auto& gain : attention->parameters()) result.push_back(gain.grad().clone());
      }
      compare(results[0], results[1], kFloat32);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("Fused dropout drops as often as asked, each entry for itself", "[fused][dropout]") {
  constexpr double kP = 0.1;
  constexpr int64_t kT = 128;
  torch::manual_seed(10);
  const auto zero = torch::zeros({4, kHeads, kT, kT}), one = torch::ones({1});
  const AttentionMask mask{.causal = false};
  const auto dropped = [&] {
    return fused_attention(zero, zero, torch::eye(kT).expand({4, kHeads, kT, kT}), {0 * one, one, 0 * one}, mask, kP) ==
           0;
  };
  const auto first = dropped(), second = dropped();
  // Within five standard deviations of the number of each.
  const auto is_near = [](const torch::Tensor& happened, double p) {
    const auto n = static_cast<double>(happened.numel());
    return std::abs(happened.sum().item<double>() - n * p) < 5 * std::sqrt(n * p * (1 - p));
  };
  CHECK(is_near(first, kP));
  for (const int64_t distance : {1, 2, 16, 64}) {
    INFO("distance " << distance);
    for (const int64_t dim : {0, 1, 2, 3}) {  // sequences, heads, queries, keys
      if (distance >= first.size(dim)) continue;
      const auto both = first.slice(dim, distance).logical_and(first.slice(dim, 0, first.size(dim) - distance));
      CHECK(is_near(both, kP * kP));
    }
  }
  CHECK(is_near(first.logical_and(second), kP * kP));
  for (const int64_t dim : {2, 3}) CHECK(first.sum(dim).max().item<double>() < kT * kP + 6.5 * std::sqrt(kT * kP));
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

TEST_CASE("Milliseconds of fused attention, forward and backward", "[.speed]") {
  ShapedAttentionConfig config;
  config.resolve_shaped();
  for (const auto& [batch, n_head, t, head_size] : {std::array<int64_t, 4>{16, 6, 128, 64}, {2, 6, 1024, 64}}) {
    ShapedAttention attention(config, n_head, 0);
    for (const auto type : {torch::kFloat, torch::kBFloat16}) {
      double forward = 1e9, backward = 1e9;
      for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<torch::Tensor> inputs;
        for (int i = 0; i < 3; ++i) {
          inputs.push_back(torch::randn({batch, t, n_head, head_size}).to(type).transpose(1, 2).requires_grad_());
        }
        const auto now = [] {
          timespec time{};
          clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
          return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
        };
        const double begin = now();
        const auto out = attention->forward(inputs[0], inputs[1], inputs[2], {});
        const double middle = now();
        out.backward(torch::ones_like(out));
        forward = std::min(forward, middle - begin);
        backward = std::min(backward, now() - middle);
      }
      WARN(batch << " x " << t << ", " << n_head << " heads of " << head_size << ", " << type << ": forward " << forward
                 << " ms, backward " << backward << " ms");
    }
  }
}
