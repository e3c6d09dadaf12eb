// Dropout: where it acts, on how much, and that nothing is drawn where it is off.
#include "models/dropout.h"

#include <ATen/Context.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <cmath>

#include "models/block_variants.h"
#include "models/feed_forward.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

/// Of n values each 0 with probability p, the fraction lies within 5 standard errors.
void check_dropped(const torch::Tensor& zero, double p) {
  const double n = static_cast<double>(zero.numel());
  CHECK(std::abs(zero.to(torch::kFloat64).mean().item<double>() - p) < 5 * std::sqrt(p * (1 - p) / n));
}

torch::Tensor heads() {
  return torch::randn({2, 3, 24, 5}, torch::kFloat64);
}

ShapedAttention random_attention(double dropout) {
  ShapedAttentionConfig config;
  config.resolve_shaped();
  ShapedAttention attention(config, 3, /*soft_cap=*/0, dropout);
  attention->to(torch::kFloat64);
  torch::manual_seed(41);
  randomise(*attention);
  return attention;
}

}  // namespace

TEST_CASE("Without dropout a training pass draws no random number", "[dropout]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    auto gpt = random_gpt(resolved(small_config(std::string(variant.name))));
    const auto ids = random_ids(gpt->config());
    const auto before = at::globalContext().defaultGenerator(at::kCPU).get_state();
    gpt->loss({.ids = ids}).sum.backward();
    CHECK(at::globalContext().defaultGenerator(at::kCPU).get_state().equal(before));
  }
}

TEST_CASE("In evaluation every dropout is off, and in training each place changes the loss", "[dropout]") {
  for (const auto kind : {ModelKind::gpt, ModelKind::bert}) {
    for (const auto& variant : block_variants()) {
      for (double DropoutConfig::*place :
           {&DropoutConfig::embedding, &DropoutConfig::attention, &DropoutConfig::branch}) {
        auto config = small_config(std::string(variant.name));
        config.kind = kind;
        auto plain = random_model(resolved(config));
        config.dropout.*place = 0.5;
        auto dropping = random_model(resolved(config));
        const auto batch = random_batch(config);
        const auto loss = [&](const Transformer& model) { return model->loss(batch).sum; };
        const auto expected = loss(plain);
        CHECK_FALSE(loss(dropping).equal(expected));
        CHECK_FALSE(loss(dropping).equal(loss(dropping)));
        dropping->eval();
        CHECK(loss(dropping).equal(expected));
      }
    }
  }
}

TEST_CASE("Attention dropout acts on A alone: each entry is 0 or 1/(1 - p) times as large", "[dropout]") {
  constexpr double kP = 0.3;
  auto attention = random_attention(kP);
  const auto q = heads(), k = heads();
  attention->eval();
  const auto ordinary = attention->matrix(q, k, {}).detach();
  attention->train();
  const auto dropped = attention->matrix(q, k, {}).detach();
  const auto gains = attention->parameters();  // alpha, beta, gamma
  const auto counts = torch::arange(1, 25, torch::kFloat64).unsqueeze(-1);
  const auto rest =
      (gains[0] * torch::eye(24, torch::kFloat64) - gains[2] * torch::ones({24, 24}, torch::kFloat64).tril() / counts)
          .detach();  // alpha*I - gamma*C
  const auto seen = torch::ones({2, 3, 24, 24}, torch::kBool).tril();
  const auto a = (ordinary - rest).masked_select(seen), b = (dropped - rest).masked_select(seen);
  const auto zero = b.abs() < 1e-12;
  check_dropped(zero, kP);
  const auto expected = (a / (1 - kP)).masked_fill(zero, 0);
  CHECK((b - expected).abs().max().item<double>() < 1e-13);
}

TEST_CASE("The path without a T x T matrix drops the same entries of A as the formula", "[dropout]") {
  auto attention = random_attention(0.3);
  const auto q = heads(), k = heads(), v = heads();
  torch::manual_seed(42);
  const auto fast = attention->forward(q, k, v, {});
  torch::manual_seed(42);
  const auto plain = attention->plain(q, k, v, {});
  CHECK((fast - plain).abs().max().item<double>() < 1e-12);
}

TEST_CASE("The sub-blocks' outputs and the embedding sum are dropped as often as asked", "[dropout]") {
  torch::manual_seed(43);
  auto config = small_config("pre_ln");
  config.dropout = {.embedding = 0.1, .attention = 0, .branch = 0.4};
  config.resolve();
  Gpt gpt(config);
  randomise(*gpt);
  const auto ids = random_ids(config, 64);
  check_dropped(gpt->hidden_states({.ids = ids}).front() == 0, 0.1);
  const auto x = torch::randn({64, 7, 12});
  check_dropped(gpt->blocks()[0]->attention()->forward(x, {}) == 0, 0.4);
  FeedForward feed_forward(config);
  check_dropped(feed_forward->forward(x) == 0, 0.4);
}
