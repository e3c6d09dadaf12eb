// What follows the optimizer steps: the lambda of an identity start, and gains under feedback.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <cmath>

#include "configs/config_file.h"
#include "models/block_variants.h"
#include "models/branch_gain.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

torch::Tensor flag(double value) {
  return at::full({}, value);
}

/// Shaped attention of 2 heads of size 3 with random gains, and an identity start over 4 steps or none.
ShapedAttention random_attention(IdentitySchedule schedule, double soft_cap = 0) {
  torch::manual_seed(21);
  ShapedAttentionConfig config;
  config.resolve_shaped();
  ShapedAttention attention(config, 2, soft_cap, /*dropout=*/0, IdentityStartConfig{.schedule = schedule, .steps = 4});
  attention->to(torch::kFloat64);
  randomise(*attention);
  return attention;
}

torch::Tensor heads() {
  return torch::randn({2, 2, 5, 3}, torch::kFloat64).requires_grad_();
}

BranchGainConfig feedback_gain(double init, FeedbackConfig feedback) {
  BranchGainConfig config;
  config.init = init;
  config.feedback = feedback;
  config.resolve(1, true);
  return config;
}

double gain_of(const BranchGain& gain) {
  return gain->value().item<double>();
}

/// One optimizer step in which the gain lets `branches` through.
void one_step(BranchGain& gain, const std::vector<torch::Tensor>& branches, double skipped = 0) {
  gain->begin_step(0);
  for (const auto& branch : branches) gain->forward(branch, {});
  gain->end_step(flag(skipped));
}

double rms(const torch::Tensor& x) {
  return x.square().mean().sqrt().item<double>();
}

std::string complaint(std::vector<std::string> overrides) {
  try {
    parse_config<ModelConfig>("n_layer: 2\n", "model.yaml", overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

// What float32, in which a gain is kept, rounds to in a power and a product.
constexpr double kFloatRounding = 1e-6;

}  // namespace

TEST_CASE("lambda falls from 1 to 0 over the given steps, linearly or as a cosine", "[identity start]") {
  IdentityStartConfig config{.schedule = IdentitySchedule::linear, .steps = 8};
  const double linear[] = {1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0, 0};
  for (int64_t t = 0; t < 10; ++t) CHECK(config.lambda(t) == linear[t]);
  config.schedule = IdentitySchedule::cosine;
  CHECK(config.lambda(0) == 1);
  CHECK(config.lambda(2) == Approx(0.5 + std::sqrt(0.5) / 2).epsilon(1e-15));
  CHECK(config.lambda(4) == Approx(0.5).epsilon(1e-15));
  CHECK(config.lambda(8) == 0);
  CHECK(config.lambda(1'000'000) == 0);
  config.schedule = IdentitySchedule::off;
  CHECK(config.lambda(0) == 0);
}

TEST_CASE("At lambda 1 attention returns its values, and queries and keys have gradient 0", "[identity start]") {
  for (const double soft_cap : {0.0, 5.0}) {
    auto attention = random_attention(IdentitySchedule::linear, soft_cap);
    const auto q = heads(), k = heads(), v = heads();
    for (const bool at_step_0 : {false, true}) {  // as it is built, and as step 0 sets it
      if (at_step_0) attention->begin_step(0);
      CHECK(attention->forward(q, k, v, {}).equal(v));
      CHECK(attention->plain(q, k, v, {}).equal(v));
    }
    attention->forward(q, k, v, {}).sum().backward();
    CHECK(q.grad().abs().max().item<double>() == 0);
    CHECK(k.grad().abs().max().item<double>() == 0);
    CHECK(v.grad().equal(torch::ones_like(v)));
  }
}

TEST_CASE("At lambda 0 attention is bit for bit what it is without an identity start", "[identity start]") {
  auto without = random_attention(IdentitySchedule::off), with = random_attention(IdentitySchedule::cosine);
  CHECK(without->buffers().empty());
  with->begin_step(4);
  const std::vector<torch::Tensor> inputs{heads(), heads(), heads()};
  std::vector<std::vector<torch::Tensor>> results;
  for (auto attention : {without, with}) {
    for (const auto& input : inputs) input.mutable_grad().reset();
    const auto out = attention->forward(inputs[0], inputs[1], inputs[2], {});
    out.square().sum().backward();
    auto& result = results.emplace_back(std::vector{out, attention->plain(inputs[0], inputs[1], inputs[2], {})});
    for (const auto& input : inputs) result.push_back(input.grad().clone());
    for (const auto& gain : attention->parameters()) result.push_back(gain.grad().clone());
  }
  REQUIRE(results[0].size() == 8);
  for (size_t i = 0; i < results[0].size(); ++i) CHECK(results[0][i].equal(results[1][i]));
}

TEST_CASE("In between, the attention matrix is lambda*I + (1 - lambda)*P on both paths", "[identity start]") {
  auto without = random_attention(IdentitySchedule::off), with = random_attention(IdentitySchedule::linear);
  const auto q = heads(), k = heads(), v = heads();
  with->begin_step(1);  // of 4
  const auto expected = 0.75 * torch::eye(5, torch::kFloat64) + 0.25 * without->matrix(q, k, {});
  CHECK((with->matrix(q, k, {}) - expected).abs().max().item<double>() < 1e-15);
  // Sums of 5 float64 terms of order 1.
  CHECK((with->forward(q, k, v, {}) - torch::matmul(expected, v)).abs().max().item<double>() < 1e-14);
}

TEST_CASE("Every block follows lambda step by step, and ends in the ordinary model", "[identity start]") {
  const auto check = [](ModelConfig config) {
    auto plain = random_model(resolved(config));
    config.identity_start = {.schedule = IdentitySchedule::linear, .steps = 4};
    auto fading = random_model(resolved(config));
    const auto batch = random_batch(config);
    const auto loss = [&](const Transformer& model) { return model->loss(batch).sum; };
    const auto ordinary = loss(plain);
    torch::Tensor previous;
    for (int64_t step = 0; step < 4; ++step) {
      fading->begin_step(step);
      const auto now = loss(fading);
      CHECK_FALSE(now.equal(ordinary));
      if (previous.defined()) CHECK_FALSE(now.equal(previous));
      previous = now;
    }
    fading->begin_step(4);
    CHECK(loss(fading).equal(ordinary));
    // What evaluation and a resumed run read is saved with the model.
    CHECK(fading->named_buffers().contains("block_1.attention.shape.lambda"));
  };
  for (const auto kind : {ModelKind::gpt, ModelKind::bert}) {
    for (const auto& variant : block_variants()) {
      INFO(name_of(kind) << ", " << variant.name);
      auto config = small_config(std::string(variant.name));
      config.kind = kind;
      check(config);
    }
  }
}

TEST_CASE("A gain under feedback becomes clip(gain * (target / rms)^power)", "[feedback]") {
  torch::manual_seed(22);
  const auto a = torch::randn({2, 3, 4}) * 5, b = torch::randn({1, 3, 4});
  const double expected_rms = 0.5 * std::sqrt((a.square().sum() + b.square().sum()).item<double>() /
                                              static_cast<double>(a.numel() + b.numel()));
  BranchGain gain(feedback_gain(0.5, {.power = 0.7, .target = 1.5}));
  CHECK(gain->parameters().empty());
  one_step(gain, {a, b});  // two micro-batches of different sizes
  CHECK(gain_of(gain) == Approx(0.5 * std::pow(1.5 / expected_rms, 0.7)).epsilon(kFloatRounding));

  BranchGain low(feedback_gain(0.5, {.power = 1, .target = 1e-6, .low = 0.25}));
  one_step(low, {a});
  CHECK(gain_of(low) == 0.25);
  BranchGain high(feedback_gain(0.5, {.power = 1, .target = 1e6, .high = 2}));
  one_step(high, {a});
  CHECK(gain_of(high) == 2);
}

TEST_CASE("Without a given target the first rms is the target, and a branch that grows is held there", "[feedback]") {
  torch::manual_seed(23);
  const auto branch = torch::randn({2, 3, 4});
  BranchGain gain(feedback_gain(1, {.power = 0.5, .target = {}}));
  one_step(gain, {torch::zeros({2, 3, 4})});  // no rms to aim at
  CHECK(gain_of(gain) == 1);
  one_step(gain, {branch});
  CHECK(gain_of(gain) == Approx(1).epsilon(kFloatRounding));
  for (int step = 0; step < 30; ++step) one_step(gain, {7 * branch});
  CHECK(gain_of(gain) == Approx(1 / 7.0).epsilon(1e-4));
}

TEST_CASE("The distance from the target shrinks by |1 - power| each step, for powers from 0 to 2", "[feedback]") {
  torch::manual_seed(24);
  const auto branch = torch::randn({2, 3, 4});
  for (const double power : {0.25, 1.0, 1.5, 1.9}) {
    INFO(power);
    BranchGain gain(feedback_gain(1, {.power = power, .target = 0.01, .low = 1e-9}));
    const auto distance = [&] { return std::log(gain_of(gain) * rms(branch) / 0.01); };
    for (int step = 0; step < 3; ++step) {
      const double before = distance();
      one_step(gain, {branch});
      CHECK(distance() == Approx((1 - power) * before).margin(1e-5));
    }
  }
}

TEST_CASE("Feedback counts real tokens, once per pass, while training", "[feedback]") {
  torch::manual_seed(25);
  const FeedbackConfig exact{.power = 1, .target = 1.0};
  auto branch = torch::randn({2, 3, 4});
  branch[0].slice(0, 2) = 1e4;  // padding
  auto kept = torch::ones({2, 3}, torch::kBool);
  kept[0].slice(0, 2) = false;
  const auto real = torch::cat({branch[0].slice(0, 0, 2), branch[1]});
  BranchGain gain(feedback_gain(1, exact));
  gain->begin_step(0);
  gain->forward(branch, {.kept = kept});
  gain->forward(100 * branch, {.recomputing = true});
  gain->eval();
  gain->forward(100 * branch, {});
  gain->train();
  gain->end_step(flag(0));
  CHECK(gain_of(gain) == Approx(1 / rms(real)).epsilon(kFloatRounding));

  BranchGain frozen(feedback_gain(1, exact));
  frozen->eval();
  one_step(frozen, {branch});
  CHECK(gain_of(frozen) == 1);
  frozen->train();
  frozen->forward(100 * branch, {});  // between steps
  one_step(frozen, {branch[1].unsqueeze(0)});
  CHECK(gain_of(frozen) == Approx(1 / rms(branch[1])).epsilon(kFloatRounding));
}

TEST_CASE("A step that is skipped or not finite leaves a gain and its target as they are", "[feedback]") {
  const auto ones = torch::ones({1, 2, 3});
  BranchGain gain(feedback_gain(0.5, {.power = 1, .target = {}}));
  one_step(gain, {4 * ones}, /*skipped=*/1);
  one_step(gain, {INFINITY * ones});
  one_step(gain, {NAN * ones});
  CHECK(gain_of(gain) == 0.5);
  CHECK(gain->named_buffers()["feedback_target"].item<double>() == 0);
  one_step(gain, {4 * ones});
  CHECK(gain->named_buffers()["feedback_target"].item<double>() == 2);
  one_step(gain, {8 * ones}, /*skipped=*/1);
  CHECK(gain_of(gain) == 0.5);
  one_step(gain, {8 * ones});
  CHECK(gain_of(gain) == 0.25);
}

TEST_CASE("No gradient flows through the feedback", "[feedback]") {
  const auto branch = torch::ones({1, 2, 3}).requires_grad_();
  BranchGain gain(feedback_gain(0.5, {.power = 1, .target = 3.0}));
  gain->begin_step(0);
  const auto out = gain->forward(branch, {});
  out.sum().backward();
  gain->end_step(flag(0));
  CHECK(branch.grad().equal(torch::full({1, 2, 3}, 0.5)));
  CHECK_FALSE(gain->value().requires_grad());
  for (const auto& buffer : gain->buffers()) CHECK_FALSE(buffer.requires_grad());
}

TEST_CASE("Without norms, feedback brings both branches of every block to their target", "[feedback]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    const std::string name(variant.name);
    std::vector<std::string> overrides;
    for (const std::string gain : {"beta_sa", "beta_ff"}) {
      overrides.push_back(name + "." + gain + ".feedback.power=1");
      overrides.push_back(name + "." + gain + ".feedback.target=0.3");
    }
    const auto config = parse_config<ModelConfig>(write_config(small_config(name, NormKind::none)), "test", overrides);
    torch::manual_seed(26);
    Gpt gpt(config);
    randomise(*gpt, 0.2);
    const auto ids = random_ids(config, 2);
    for (int64_t step = 0; step < 8; ++step) {  // each branch needs those before it to be still
      gpt->begin_step(step);
      const torch::NoGradGuard no_grad;
      gpt->loss({.ids = ids});
      gpt->end_step(flag(0));
    }
    int seen = 0;
    for (const auto& item : gpt->named_buffers()) {
      if (!item.key().ends_with("feedback_sum")) continue;
      const auto path = item.key().substr(0, item.key().size() - 3);
      const double count = gpt->named_buffers()[path + "count"].item<double>();
      CHECK(count == 2 * 7 * 12);
      CHECK(std::sqrt(item.value().item<double>() / count) == Approx(0.3).epsilon(0.02));
      ++seen;
    }
    CHECK(seen == 2 * config.n_layer);
  }
}

TEST_CASE("Feedback settings that contradict each other are named", "[feedback][config]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(complaint({"pre_ln.beta_sa.feedback.power=2"}), Contains("pre_ln.beta_sa.feedback.power"));
  CHECK_THAT(complaint({"pre_ln.beta_sa.feedback.power=-0.1"}), Contains("pre_ln.beta_sa.feedback.power"));
  CHECK_THAT(complaint({"sas.beta_ff.feedback.power=1", "sas.beta_ff.trainable=true"}),
             Contains("sas.beta_ff.trainable") && Contains("not both"));
  CHECK_THAT(complaint({"pre_ln.beta_sa.feedback.power=1", "pre_ln.beta_sa.feedback.low=2"}),
             Contains("pre_ln.beta_sa.init") && Contains("feedback.low 2"));
  CHECK_THAT(
      complaint({"pre_ln.beta_sa.feedback.power=1", "pre_ln.beta_sa.feedback.low=2", "pre_ln.beta_sa.feedback.high=1"}),
      Contains("pre_ln.beta_sa.feedback.low"));
  CHECK_THAT(complaint({"identity_start.steps=0"}), Contains("identity_start.steps"));
  CHECK(complaint({"block=sas", "sas.beta_ff.feedback.power=1"}) == "accepted");
}
