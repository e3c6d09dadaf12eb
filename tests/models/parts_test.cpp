// The parts of a block against their formulas, written out on single numbers.
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <cmath>

#include "models/activation.h"
#include "models/feed_forward.h"
#include "models/gained_linear.h"
#include "models/norm.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

double one(Activation activation, double x, double slope = 0.01) {
  return activate(activation, slope, torch::full({1}, x, torch::kFloat64)).item<double>();
}

}  // namespace

TEST_CASE("RMSNorm adds eps to the root mean square, outside the root", "[parts]") {
  RmsNormImpl norm(3, 0.5);
  norm.to(torch::kFloat64);
  randomise(norm);
  const auto scale = norm.parameters()[0];
  const auto y = norm.forward(torch::tensor({1.0, -2.0, 2.0}, torch::kFloat64));
  const double rms = std::sqrt(9.0 / 3.0);
  const double x[] = {1, -2, 2};
  for (int64_t i = 0; i < 3; ++i) {
    CHECK(y[i].item<double>() == Approx(scale[i].item<double>() * x[i] / (rms + 0.5)).epsilon(1e-14));
  }
}

TEST_CASE("RMSNorm of a zero vector is zero with a finite gradient", "[parts]") {
  RmsNormImpl norm(4, 1e-5);
  const auto x = torch::zeros({2, 4}).requires_grad_();
  const auto y = norm.forward(x);
  y.sum().backward();
  CHECK(y.abs().max().item<double>() == 0);
  CHECK(x.grad().isfinite().all().item<bool>());
}

TEST_CASE("LayerNorm subtracts the mean and adds eps inside the root", "[parts]") {
  LayerNormImpl norm(3, 0.5);
  norm.to(torch::kFloat64);
  randomise(norm);
  const auto weight = norm.parameters()[0], bias = norm.parameters()[1];
  const auto y = norm.forward(torch::tensor({1.0, -2.0, 4.0}, torch::kFloat64));
  const double x[] = {0, -3, 3};
  for (int64_t i = 0; i < 3; ++i) {
    CHECK(y[i].item<double>() ==
          Approx(weight[i].item<double>() * x[i] / std::sqrt(6.0 + 0.5) + bias[i].item<double>()).epsilon(1e-14));
  }
}

TEST_CASE("Activations take their textbook values", "[parts]") {
  CHECK(one(Activation::relu, -2) == 0);
  CHECK(one(Activation::relu, 3) == 3);
  CHECK(one(Activation::leaky_relu, -2, 0.2) == Approx(-0.4).epsilon(1e-14));
  CHECK(one(Activation::leaky_relu, 3, 0.2) == 3);
  CHECK(one(Activation::gelu, 1.5) == Approx(1.5 * 0.5 * std::erfc(-1.5 / std::sqrt(2.0))).epsilon(1e-14));
  const double inner = std::sqrt(2 / M_PI) * (1.5 + 0.044715 * std::pow(1.5, 3));
  CHECK(one(Activation::gelu_tanh, 1.5) == Approx(0.5 * 1.5 * (1 + std::tanh(inner))).epsilon(1e-14));
  const auto gated = activate(Activation::geglu, 0, torch::tensor({2.0, -1.0, 1.5, 0.0}, torch::kFloat64));
  CHECK(gated.size(0) == 2);
  CHECK(gated[0].item<double>() == Approx(2 * one(Activation::gelu, 1.5)).epsilon(1e-14));
  CHECK(gated[1].item<double>() == 0);
}

TEST_CASE("A gained projection is alpha*W_init + beta*W, with the bias added once", "[parts]") {
  torch::manual_seed(2);
  for (const WeightInit init : {WeightInit::identity, WeightInit::orthogonal, WeightInit::normal}) {
    ProjectionConfig config{.kind = ProjectionKind::gained, .init = {.kind = init}};
    config.resolve(/*gains_trainable=*/true);
    GainedLinear linear(config, 6, /*bias=*/true, 0.02);
    linear->to(torch::kFloat64);
    randomise(*linear);
    const auto named = linear->named_parameters();
    const auto matrix =
        named["alpha.value"] * linear->named_buffers()["w_init"] + named["beta.value"] * named["weight"];
    const auto x = torch::randn({2, 3, 6}, torch::kFloat64);
    const auto expected = torch::matmul(x, matrix.t()) + named["bias"];
    CHECK((linear->forward(x) - expected).abs().max().item<double>() < 1e-13);
  }
}

TEST_CASE("An identity projection returns its input itself and has no parameter", "[parts]") {
  ProjectionConfig config{.kind = ProjectionKind::identity};
  config.resolve(true);
  GainedLinear linear(config, 6, /*bias=*/false, 0.02);
  const auto x = torch::randn({2, 6});
  CHECK(linear->forward(x).data_ptr() == x.data_ptr());
  CHECK(linear->parameters().empty());
}

TEST_CASE("The normal W_init of a gained projection has variance 1/d", "[parts]") {
  torch::manual_seed(3);
  ProjectionConfig config{.kind = ProjectionKind::gained, .init = {.kind = WeightInit::normal}};
  config.resolve(true);
  GainedLinear linear(config, 200, false, 0.02);
  CHECK(linear->w_init().std().item<double>() ==
        Approx(1 / std::sqrt(200.0)).epsilon(0.02));  // 40,000 draws: 0.4 % each
}

TEST_CASE("The feed-forward with biases and each activation is W_2 act(W_1 x + b_1) + b_2", "[parts]") {
  torch::manual_seed(4);
  for (const auto& entry : enum_names(Activation{})) {
    INFO(entry.name);
    auto config = small_config("pre_ln");
    config.activation = entry.value;
    config.bias.feed_forward = true;
    config.resolve();
    FeedForward feed_forward(config);
    feed_forward->to(torch::kFloat64);
    randomise(*feed_forward);
    const auto p = feed_forward->named_parameters();
    const auto x = torch::randn({2, 12}, torch::kFloat64);
    const auto inner = activate(entry.value, config.leaky_slope, torch::matmul(x, p["w_1"].t()) + p["b_1"]);
    CHECK((feed_forward->forward(x) - torch::matmul(inner, p["w_2"].t()) - p["b_2"]).abs().max().item<double>() <
          1e-13);
    int64_t actual = 0;
    for (const auto& parameter : feed_forward->parameters()) actual += parameter.numel();
    CHECK(actual == FeedForwardImpl::n_parameters(config));
  }
}
