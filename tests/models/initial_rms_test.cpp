// How large each sub-block's output is at the start, against what its formula and its initialisation predict.
//
// A sub-block reads rows n of rms 1 (what a norm gives), here of independent normal values. Three facts make the rest:
//   W ~ N(0, s^2) of c columns multiplies an rms by s*sqrt(c); an orthogonal [r, c] by 1 if r <= c, else by sqrt(c/r).
//   Row i of P mixes rows of V that are independent of one another: rms^2 is multiplied by sum_j P_ij^2.
//   The activation of h ~ N(0, sigma^2) has the mean square E[act(h)^2], an integral over one variable.
#include <ATen/ops/linspace.h>
#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "configs/config_file.h"
#include "models/block_variants.h"
#include "models/convert/official.h"
#include "models/convert/official_settings.h"
#include "models/feed_forward.h"
#include "tests/models/small_model.h"
#include "tests/shared_folder.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

constexpr int64_t kTokens = 32, kBatch = 16;
// One draw of matrices of width 128 and of 512 tokens: the rms of a product of two of them varies by 1.5 %.
constexpr double kSampling = 0.06;

struct Interval {
  double low, high;
};

/// The factor by which a matrix [rows, columns] multiplies an rms.
double factor(const InitConfig& init, int64_t rows, int64_t columns, double default_std) {
  if (init.kind == WeightInit::normal) return init.std.value_or(default_std) * std::sqrt(static_cast<double>(columns));
  return rows <= columns ? 1 : std::sqrt(static_cast<double>(columns) / static_cast<double>(rows));
}

double factor(const ProjectionConfig& projection, const TransformerConfig& config) {
  const int64_t d = config.d_model;
  switch (projection.kind) {
    case ProjectionKind::plain:
      return factor(projection.init, d, d, config.init_std);
    case ProjectionKind::gained:  // W is 0
      return *projection.alpha.init * factor(projection.init, d, d, 1 / std::sqrt(static_cast<double>(d)));
    default:
      return 1;
  }
}

/// Mean over rows i of sum_j P_ij^2. Of A only that sum is not known exactly: with m visible keys it is 1/m for equal
/// logits, and at most exp(sigma^2)/m, its value for many keys with logits N(0, sigma^2); never above 1.
Interval mixing(const ShapedAttentionConfig& shape, double lambda, double logit_variance) {
  const double alpha = lambda + (1 - lambda) * *shape.alpha.init;
  const double beta = (1 - lambda) * *shape.beta.init, gamma = (1 - lambda) * *shape.gamma.init;
  Interval sum{0, 0};
  for (int64_t i = 1; i <= kTokens; ++i) {
    const double m = static_cast<double>(i), rest = beta - gamma;
    const double even = alpha * alpha + 2 * alpha * rest / m + rest * rest / m;
    const double most = std::min(1.0, std::exp(logit_variance) / m) - 1 / m;
    sum.low += even / kTokens;
    sum.high += (even + beta * beta * most) / kTokens;
  }
  return sum;
}

Interval predicted_attention(const ModelConfig& model, const TransformerConfig& config, int64_t layer) {
  const auto& attention = model.block_config().attention_config();
  const double q = factor(attention.query_init, config.d_model, config.d_model, config.init_std);
  const double k = factor(config.init.key, config.d_model, config.d_model, config.init_std);
  const double variance = config.qk_norm ? 1 : q * q * k * k;
  const double maps = factor(attention.value_of(layer), config) *
                      factor(attention.projection_of(layer, config.n_layer), config) *
                      (attention.projection_of(layer, config.n_layer).kind == ProjectionKind::identity
                           ? 1
                           : config.init.output_scale(config.n_layer));
  const Interval squares = mixing(attention.shape, config.identity_start.lambda(0), variance);
  return {maps * std::sqrt(squares.low), maps * std::sqrt(squares.high)};
}

/// E[f(z)] for z ~ N(0, 1).
template <class F>
double normal_mean(F&& f) {
  const auto z = at::linspace(-10, 10, 20'001, torch::kFloat64);
  return (f(z) * (-z.square() / 2).exp()).sum().template item<double>() * 1e-3 / std::sqrt(2 * M_PI);
}

double predicted_feed_forward(const TransformerConfig& config) {
  const int64_t d = config.d_model, d_ff = *config.d_ff;
  const double sigma = factor(config.init.feed_forward_in, d_ff, d, config.init_std);
  const bool glu = config.activation == Activation::geglu;
  // geglu: x * gelu(gate), of independent x and gate.
  const auto act = glu ? Activation::gelu : config.activation;
  const double square =
      normal_mean([&](const at::Tensor& z) { return activate(act, config.leaky_slope, sigma * z).square(); }) *
      (glu ? sigma * sigma : 1);
  return std::sqrt(square) * config.init.output_scale(config.n_layer) *
         factor(config.init.feed_forward_out, d, glu ? d_ff / 2 : d_ff, config.init_std);
}

double rms(const torch::Tensor& x) {
  return x.square().mean().sqrt().item<double>();
}

void check_initial_rms(const ModelConfig& model) {
  const auto settings = model.block_config().settings(model);
  torch::manual_seed(61);
  Gpt gpt(model);
  const torch::NoGradGuard no_grad;
  auto n = torch::randn({kBatch, kTokens, model.d_model});
  n = n / n.square().mean(-1, /*keepdim=*/true).sqrt();
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    INFO("layer " << layer);
    const auto expected = predicted_attention(model, settings, layer);
    const double of_attention = rms(gpt->blocks()[layer]->attention()->forward(n, {}));
    CHECK(of_attention > expected.low * (1 - kSampling));
    CHECK(of_attention < expected.high * (1 + kSampling));
    int seen = 0;
    for (const auto& module : gpt->blocks()[layer]->modules()) {
      auto* feed_forward = module->as<FeedForwardImpl>();
      if (feed_forward == nullptr) continue;
      CHECK(rms(feed_forward->forward(n)) == Approx(predicted_feed_forward(settings)).epsilon(kSampling));
      ++seen;
    }
    CHECK(seen == 1);
  }
}

ModelConfig wide(const std::string& block, std::vector<std::string> overrides = {}) {
  return parse_config<ModelConfig>(
      fmt::format("{{block: {}, n_layer: 3, d_model: 128, n_head: 4, d_ff: 320, vocab_size: 50, context_length: 32}}",
                  block),
      "test", overrides);
}

}  // namespace

TEST_CASE("Each sub-block's output rms at the start lies in the predicted interval, in every variant",
          "[initial rms]") {
  for (const auto& variant : block_variants()) {
    const std::string name(variant.name);
    INFO(name);
    check_initial_rms(wide(name));
    check_initial_rms(wide(name, {"init_std=0.1", "activation=gelu", name + ".query_init.std=0.1"}));
    check_initial_rms(wide(name, {"activation=geglu", "identity_start.schedule=linear"}));
  }
  check_initial_rms(wide("v_skipinit", {"v_skipinit.form=eq4"}));
}

TEST_CASE("The predicted interval holds for every initialisation of every part", "[initial rms]") {
  for (const std::string name : {"pre_ln", "v_skipinit", "op"}) {
    INFO(name);
    check_initial_rms(wide(name, {"init.depth_scaled=true"}));
    check_initial_rms(wide(name, {"init.feed_forward_in.kind=orthogonal", "init.feed_forward_out.kind=orthogonal",
                                  "init.key.kind=orthogonal", name + ".query_init.kind=orthogonal",
                                  name + ".value.init.kind=orthogonal", name + ".projection.init.kind=orthogonal"}));
    check_initial_rms(wide(name, {"init.feed_forward_in.std=0.1", "init.feed_forward_out.std=0.03", "init.key.std=0.05",
                                  name + ".query_init.std=0.07", name + ".value.init.std=0.2",
                                  name + ".value.init.kind=normal", name + ".projection.init.kind=identity"}));
  }
  check_initial_rms(wide("sas", {"init.depth_scaled=true", "sas.value.kind=gained", "sas.value.alpha.init=0.5",
                                 "sas.projection.kind=gained", "sas.projection.init.kind=orthogonal"}));
}

TEST_CASE("Each part starts as its own key says, and 'std' is for normal starts alone", "[initial rms][config]") {
  using Catch::Matchers::Contains;
  const auto matrix = [](const std::vector<std::string>& overrides, const std::string& name) {
    torch::manual_seed(62);
    Gpt gpt(wide("pre_ln", overrides));
    return gpt->named_parameters()[name].detach();
  };
  const auto std_of = [](const torch::Tensor& w) { return w.std().item<double>(); };
  CHECK(std_of(matrix({"init.embedding.std=0.5"}, "embedding.tokens")) == Approx(0.5).epsilon(0.05));
  CHECK(std_of(matrix({"init.embedding.std=0.5"}, "embedding.positions")) == Approx(0.5).epsilon(0.05));
  CHECK(std_of(matrix({"init.embedding.std=0.5", "tied_head=false"}, "head")) == Approx(0.5).epsilon(0.05));
  const auto qk = matrix({"init.key.kind=identity", "pre_ln.query_init.std=0.5"}, "block_1.attention.w_qk");
  CHECK(std_of(qk.slice(0, 0, 128)) == Approx(0.5).epsilon(0.05));
  CHECK(qk.slice(0, 128).equal(torch::eye(128)));
  const auto w_1 = matrix({"init.feed_forward_in.kind=orthogonal"}, "block_1.feed_forward.w_1");
  CHECK((w_1.t().mm(w_1) - torch::eye(128)).abs().max().item<double>() < 1e-5);  // float32 QR
  const auto plain = matrix({}, "block_1.feed_forward.w_2");
  const auto scaled = matrix({"init.depth_scaled=true"}, "block_1.feed_forward.w_2");
  CHECK((scaled * std::sqrt(6.0) - plain).abs().max().item<double>() < 1e-7);
  const auto complaint = [](std::vector<std::string> overrides) {
    try {
      wide("pre_ln", std::move(overrides));
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(complaint({"init.key.kind=identity", "init.key.std=0.1"}), Contains("init.key.std") && Contains("normal"));
  CHECK_THAT(complaint({"pre_ln.value.init.kind=orthogonal", "pre_ln.value.init.std=0.1"}),
             Contains("pre_ln.value.init.std"));
  CHECK_THAT(complaint({"init.depth_scaled=true", "pre_ln.tie_init=all_blocks", "pre_ln.value.kind=gained",
                        "pre_ln.projection.kind=gained"}),
             Contains("init.depth_scaled") && Contains("tie_init"));
}

TEST_CASE("At 18 x 768 every tensor of the blocks starts as in the authors' code", "[initial rms][parity]") {
  const auto file = shared_folder() / "parity/init_stats.json";
  SKIPLESS_NEEDS(file);
  const auto stats = nlohmann::json::parse(std::ifstream(file));
  int cases = 0;
  for (const auto& [name, expected] : stats.items()) {
    if (!expected.is_object() || !expected.contains("hidden_rms")) continue;
    INFO(name);
    ++cases;
    std::vector<std::string> notes;
    const OfficialSizes sizes{
        .n_layer = 18, .d_model = 768, .n_head = 12, .d_ff = 3072, .vocab_size = 50'000, .n_positions = 1024};
    const auto config = official_model_config(
        compose_official_settings({{"overrides", expected.at("overrides")}}, name), sizes, 1e-5, name, notes);
    torch::manual_seed(63);
    Tensors ours;
    std::vector<Block> blocks;
    for (const int64_t layer : {0, 17}) {  // the first, which has exceptions, and one of the others
      auto block = blocks.emplace_back(config.block_config().build(config, layer));
      const auto prefix = fmt::format("block_{}.", layer);
      for (const auto& item : block->named_parameters()) ours.emplace(prefix + item.key(), item.value().detach());
      for (const auto& item : block->named_buffers()) ours.emplace(prefix + item.key(), item.value());
    }
    int compared = 0;
    for (const auto& entry : official_map(config)) {
      const auto tensor = their_tensor(entry, ours);
      if (!tensor.defined() || !entry.is_parameter) continue;
      INFO(entry.name);
      const auto& theirs = expected.at("params").at(entry.name);
      const double n = static_cast<double>(tensor.numel()), std = theirs.at("std");
      CHECK(tensor.sizes().vec() == theirs.at("shape").get<std::vector<int64_t>>());
      // Two independent draws: 5 standard errors of their difference. Constants are the same in both.
      const double error = 5 * std * std::sqrt(2 / n) + 1e-7;
      CHECK(std::abs(tensor.mean().item<double>() - theirs.at("mean").get<double>()) <= error);
      if (n > 1) CHECK(std::abs(tensor.std().item<double>() - std) <= error);
      // Extremes of 10^5 and more normal draws vary by a few per cent.
      CHECK(tensor.max().item<double>() == Approx(theirs.at("max").get<double>()).epsilon(0.25).margin(1e-7));
      CHECK(tensor.min().item<double>() == Approx(theirs.at("min").get<double>()).epsilon(0.25).margin(1e-7));
      ++compared;
    }
    CHECK(compared >= 2 * 11);
    // What the first block makes of token and position embeddings. Rows of a sequence share the mean over its tokens
    // that attention adds, so that these 400,000 values are far from independent.
    const torch::NoGradGuard no_grad;
    const auto x = 0.02 * torch::randn({4, 128, 768}) + 0.02 * torch::randn({128, 768});
    CHECK(rms(blocks[0]->forward(x, {})) == Approx(expected.at("hidden_rms").at(1).get<double>()).epsilon(0.1));
  }
  CHECK(cases == 7);
}
