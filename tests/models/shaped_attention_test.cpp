// Shaped attention: the fused path against the formula, the exact identity at the start, and masks.
#include <torch/nn/module.h>
#include <torch/utils.h>

#include "models/blocks/sas.h"
#include "models/shaped_attention.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

constexpr int64_t kHeads = 3, kHeadSize = 5;

ShapedAttention random_attention(bool per_head, double soft_cap = 0) {
  ShapedAttentionConfig config;
  config.resolve_shaped();
  for (auto* gain : {&config.alpha, &config.beta, &config.gamma}) gain->per_head = per_head;
  ShapedAttention attention(config, kHeads, soft_cap);
  attention->to(torch::kFloat64);
  randomise(*attention);
  return attention;
}

/// [B, H, T, dh] with the memory layout of split heads, a gradient wanted.
torch::Tensor heads(int64_t batch, int64_t t) {
  return torch::randn({batch, t, kHeads, kHeadSize}, torch::kFloat64).transpose(1, 2).detach().requires_grad_();
}

double largest(const torch::Tensor& x) {
  return x.abs().max().item<double>();
}

/// One pass through `forward` or `plain`: output, then the gradients of q, k, v and of every gain.
std::vector<torch::Tensor> pass(ShapedAttention& attention, std::vector<torch::Tensor> inputs,
                                const AttentionMask& mask, bool plain, const torch::Tensor& weights) {
  attention->zero_grad();
  for (auto& input : inputs) input.mutable_grad().reset();
  const auto out = plain ? attention->plain(inputs[0], inputs[1], inputs[2], mask)
                         : attention->forward(inputs[0], inputs[1], inputs[2], mask);
  (out * weights).sum().backward();
  std::vector<torch::Tensor> results{out.detach()};
  for (const auto& input : inputs) results.push_back(input.grad().clone());
  for (const auto& gain : attention->parameters()) results.push_back(gain.grad().clone());
  return results;
}

}  // namespace

TEST_CASE("The path without a T x T matrix equals the formula, forward and backward", "[attention]") {
  torch::manual_seed(5);
  // Both are float64 sums of at most 37 terms of order 1; they differ by rounding alone.
  constexpr double kTolerance = 1e-13;
  for (const bool causal : {true, false}) {
    for (const bool per_head : {true, false}) {
      for (const bool padded : {true, false}) {
        for (const int64_t t : {1, 2, 11, 37}) {
          INFO("causal " << causal << ", per head " << per_head << ", padded " << padded << ", T " << t);
          auto attention = random_attention(per_head);
          const std::vector<torch::Tensor> inputs{heads(2, t), heads(2, t), heads(2, t)};
          AttentionMask mask{.causal = causal, .kept = {}, .centre_over_all = t == 11};
          if (padded) {
            mask.kept = torch::ones({2, t}, torch::kBool);
            mask.kept[1].slice(0, (t + 1) / 2) = false;
          }
          const auto weights = torch::randn_like(inputs[0]);
          const auto fast = pass(attention, inputs, mask, false, weights);
          const auto plain = pass(attention, inputs, mask, true, weights);
          REQUIRE(fast.size() == 7);
          for (size_t i = 0; i < fast.size(); ++i) {
            INFO("result " << i);
            CHECK(largest(fast[i] - plain[i]) <=
                  kTolerance * std::max(1.0, largest(plain[i])) * static_cast<double>(t));
          }
        }
      }
    }
  }
}

TEST_CASE("The attention matrix is alpha*I + beta*A - gamma*C, entry by entry", "[attention]") {
  torch::manual_seed(6);
  const int64_t t = 6;
  auto attention = random_attention(/*per_head=*/true);
  const auto q = heads(1, t).detach(), k = heads(1, t).detach();
  const auto p = attention->matrix(q, k, AttentionMask{}).detach();
  const auto gains = attention->parameters();  // alpha, beta, gamma
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t i = 0; i < t; ++i) {
      double sum = 0;
      std::vector<double> e(t, 0.0);
      for (int64_t j = 0; j <= i; ++j) {
        e[j] = std::exp(q[0][h][i].dot(k[0][h][j]).item<double>() / std::sqrt(5.0));
        sum += e[j];
      }
      for (int64_t j = 0; j < t; ++j) {
        const double c = j <= i ? 1.0 / static_cast<double>(i + 1) : 0.0;
        const double expected = gains[0][h].item<double>() * (i == j) + gains[1][h].item<double>() * e[j] / sum -
                                gains[2][h].item<double>() * c;
        CHECK(p[0][h][i][j].item<double>() == Approx(expected).margin(1e-14));
      }
    }
  }
}

TEST_CASE("An encoder's C is A at zero query-key product: 1/T, and 1/(kept keys) under padding", "[attention][V11]") {
  torch::manual_seed(10);
  const int64_t t = 5, lengths[] = {3, 5};
  auto kept = torch::ones({2, t}, torch::kBool);
  kept[0].slice(0, 3) = false;
  const auto k = heads(2, t).detach(), v = heads(2, t).detach(), q = torch::zeros_like(k);
  auto attention = random_attention(/*per_head=*/true);
  const torch::NoGradGuard no_grad;
  const auto gains = attention->parameters();  // alpha, beta, gamma
  gains[0].zero_();
  gains[1].zero_();
  gains[2].fill_(-1);  // P = C
  for (const bool padded : {false, true}) {
    for (const bool over_all : {false, true}) {
      AttentionMask mask{.causal = false, .kept = padded ? kept : torch::Tensor(), .centre_over_all = over_all};
      const auto c = attention->matrix(q, k, mask).expand({2, kHeads, t, t});
      for (int64_t b = 0; b < 2; ++b) {
        const int64_t seen = padded && !over_all ? lengths[b] : t;
        for (int64_t j = 0; j < t; ++j) {
          const double expected = j < seen ? 1 / static_cast<double>(seen) : 0;
          CHECK(largest(c[b].select(-1, j) - expected) < 1e-16);
        }
      }
      if (!over_all) CHECK(largest(c - attention->softmax_matrix(q, k, mask)) < 1e-16);
    }
  }
  // Trained gains at their start: beta*A - gamma*C is 0, and the output alpha times the values, on both paths.
  gains[0].copy_(torch::randn_like(gains[0]));
  gains[1].fill_(0.7);
  gains[2].fill_(0.7);
  const AttentionMask mask{.causal = false, .kept = kept};
  CHECK(attention->plain(q, k, v, mask).equal(gains[0] * v));
  CHECK(largest(attention->forward(q, k, v, mask) - gains[0] * v) <= 1e-13 * largest(v));
}

TEST_CASE("In half precision a padded encoder batch is finite, and what is not kept has weight 0", "[attention][V10]") {
  torch::manual_seed(11);
  auto attention = random_attention(/*per_head=*/true);
  auto kept = torch::ones({3, 4}, torch::kBool);
  kept[0].slice(0, 2) = false;
  kept[1] = false;  // no key at all
  const AttentionMask mask{.causal = false, .kept = kept};
  attention->to(torch::kFloat32);
  for (const auto dtype : {at::kHalf, at::kBFloat16}) {
    // Logits of hundreds: what a constant such as -1e9 would be added to.
    const auto q = (20 * heads(3, 4)).to(dtype).detach().requires_grad_(), k = q.detach().clone().requires_grad_();
    auto v = heads(3, 4).to(dtype).detach();
    const auto of = [&](const torch::Tensor& values) { return attention->forward(q, k, values, mask); };
    const auto out = of(v);
    CHECK(out.isfinite().all().item<bool>());
    CHECK(out[1].equal((attention->parameters()[0] * v[1]).to(out.scalar_type())));
    CHECK(attention->softmax_matrix(q, k, mask).scalar_type() == at::kFloat);
    CHECK(attention->plain(q, k, v.to(at::kFloat), mask)[1].to(out.scalar_type()).equal(out[1]));
    out.sum().backward();
    for (const auto& input : {q, k}) CHECK(input.grad().isfinite().all().item<bool>());
    v[0].slice(1, 2) = 1e4;  // padding that would show
    CHECK(of(v)[0].slice(1, 0, 2).equal(out[0].slice(1, 0, 2)));
  }
}

TEST_CASE("The logit soft-cap bounds the logits before the mask", "[attention]") {
  torch::manual_seed(7);
  auto capped = random_attention(true, /*soft_cap=*/2.0);
  auto open = random_attention(true);
  {
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < 3; ++i) open->parameters()[i].copy_(capped->parameters()[i]);
  }
  const auto q = heads(1, 9).detach(), k = heads(1, 9).detach(), v = heads(1, 9).detach();
  // c*tanh(S/c) of tiny logits is S up to S^3 / (3 c^2).
  CHECK(largest(capped->forward(1e-4 * q, 1e-2 * k, v, {}) - open->forward(1e-4 * q, 1e-2 * k, v, {})) < 1e-12);
  // Huge logits are +-2: no key gets more than e^4 times another's weight, which a softmax without the cap exceeds.
  const auto a = [&](ShapedAttention& attention) {
    const torch::NoGradGuard no_grad;
    attention->parameters()[0].zero_();
    attention->parameters()[1].fill_(1);
    attention->parameters()[2].zero_();
    return attention->matrix(1e3 * q, k, AttentionMask{.causal = false, .kept = {}});
  };
  const auto ratio = [](const torch::Tensor& p) { return (p.amax(-1) / p.amin(-1)).max().item<double>(); };
  CHECK(ratio(a(capped)) < std::exp(4.0) * (1 + 1e-12));
  CHECK(ratio(a(open)) > std::exp(10.0));
}

TEST_CASE("A row without any key to see is finite", "[attention]") {
  auto attention = random_attention(true);
  const auto kept = torch::zeros({1, 4}, torch::kBool);
  const auto q = heads(1, 4).detach();
  CHECK(attention->forward(q, q, q, {.causal = true, .kept = kept}).isfinite().all().item<bool>());
  CHECK(attention->plain(q, q, q, {.causal = true, .kept = kept}).isfinite().all().item<bool>());
}

TEST_CASE("At step 0 an SAS attention sub-block returns its input exactly by the formula",
          "[attention][initial state]") {
  torch::manual_seed(8);
  for (const int64_t t : {1, 11, 64, 127}) {
    ShapedAttentionConfig config;
    config.resolve_shaped();
    ShapedAttention attention(config, kHeads, 0);
    attention->to(torch::kFloat64);
    const auto v = heads(2, t).detach(), k = heads(2, t).detach();
    const auto q = torch::zeros_like(v);  // W_Q = 0 and b_Q = 0
    const double scale = largest(v);
    CHECK(attention->plain(q, k, v, {}).equal(v));
    // Rounding of the running mean against the softmax-weighted sum; the bar is the project's.
    CHECK(largest(attention->forward(q, k, v, {}) - v) <= 1e-13 * scale);
  }
}

TEST_CASE("At step 0 the SAS attention sub-block is linear, with matrix I, in every layer",
          "[attention][initial state]") {
  torch::manual_seed(9);
  auto config = resolved(small_config("sas"));
  Gpt gpt(config);
  gpt->to(torch::kFloat64);
  for (const auto& block : gpt->blocks()) {
    auto attention = block->attention();
    const auto x = torch::randn({2, 6, config.d_model}, torch::kFloat64);
    const auto y = torch::randn_like(x);
    const auto sum = attention->forward(2 * x - 3 * y, {});
    CHECK(largest(attention->forward(x, {}) - x) <= 1e-13 * largest(x));
    CHECK(largest(sum - (2 * attention->forward(x, {}) - 3 * attention->forward(y, {}))) <= 1e-12);
  }
}
