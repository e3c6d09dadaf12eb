#include "train/layer_statistics.h"

#include <ATen/ops/linear.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/norm.h"
#include "tests/models/small_model.h"
#include "tests/train/small_run.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

/// Numbers of a line have seven digits.
constexpr double kWritten = 5e-7;

auto near(double value) {
  return Approx(value).epsilon(kWritten).margin(1e-12);
}

/// The mean entropy of one head's rows, written out: x [B, T, D] is what queries and keys are made of.
double plain_entropy(const at::Tensor& x, const at::Tensor& w_qk, const at::Tensor& b_qk, int64_t n_head,
                     int64_t head) {
  const int64_t d = x.size(-1), dh = d / n_head;
  const auto q = at::linear(x, w_qk.narrow(0, head * dh, dh), b_qk.narrow(0, head * dh, dh));
  const auto k = at::linear(x, w_qk.narrow(0, d + head * dh, dh), b_qk.narrow(0, d + head * dh, dh));
  double sum = 0;
  for (int64_t b = 0; b < x.size(0); ++b) {
    for (int64_t i = 0; i < x.size(1); ++i) {
      std::vector<double> weights;
      double total = 0;
      for (int64_t j = 0; j <= i; ++j) {
        const double score = (q[b][i] * k[b][j]).sum().item<double>() / std::sqrt(static_cast<double>(dh));
        weights.push_back(std::exp(score));
        total += weights.back();
      }
      for (const double weight : weights) sum -= weight / total * std::log(weight / total);
    }
  }
  return sum / static_cast<double>(x.size(0) * x.size(1));
}

}  // namespace

TEST_CASE("attention entropy is the mean over causal rows of each head", "[statistics]") {
  const std::string block = GENERATE("pre_ln", "sas");
  const auto config = test::resolved(test::small_config(block));
  auto model = test::random_gpt(config);
  const auto ids = test::random_ids(config);
  const auto line = activation_statistics(*model, {.ids = ids});
  const c10::NoGradGuard no_grad;
  const auto states = model->hidden_states({.ids = ids});
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    const auto& module = *model->blocks()[static_cast<size_t>(layer)];
    auto norm = std::dynamic_pointer_cast<NormImpl>(module.named_modules()["norm_1"]);
    const auto x = norm->forward(states[static_cast<size_t>(layer)]);
    const auto& heads = line.at("entropy").at(fmt::format("block_{}", layer));
    REQUIRE(heads.size() == static_cast<size_t>(config.n_head));
    for (int64_t head = 0; head < config.n_head; ++head) {
      const auto parameters = module.named_parameters();
      const double expected =
          plain_entropy(x, parameters["attention.w_qk"], parameters["attention.b_qk"], config.n_head, head);
      CHECK(heads[static_cast<size_t>(head)].get<double>() == near(expected));
    }
  }
}

TEST_CASE("entropy is that of equal weights at the start of a skipless block, and 0 where one key has all",
          "[statistics]") {
  const auto config = test::resolved(test::small_config("sas"));
  torch::manual_seed(2);
  Gpt model(config);
  model->to(torch::kFloat64);
  const auto ids = test::random_ids(config);
  double most = 0;
  for (int64_t i = 1; i <= config.context_length; ++i) most += std::log(static_cast<double>(i));
  most /= static_cast<double>(config.context_length);
  const auto start = activation_statistics(*model, {.ids = ids});
  CHECK(start.at("entropy").at("block_1")[0].get<double>() == near(most));

  test::randomise(*model);
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : model->named_parameters()) {
      if (parameter.key().ends_with("w_qk")) parameter.value().mul_(1e4);
    }
  }
  const auto sharp = activation_statistics(*model, {.ids = ids});
  // Exactly 0 weights have 0 ln 0 = 0; a few rows may still share.
  for (const auto& head : sharp.at("entropy").at("block_0")) CHECK(head.get<double>() < 0.1 * most);
}

TEST_CASE("in an encoder every token counts all real ones, and padding is no part of any statistic", "[statistics]") {
  auto config = test::small_config("sas");
  config.kind = ModelKind::bert;
  config = test::resolved(config);
  torch::manual_seed(2);
  auto model = make_model(config);
  model->to(torch::kFloat64);
  auto ids = test::random_ids(config);  // [3, 7]
  auto kept = torch::ones({3, 7}, torch::kBool);
  kept[0].slice(0, 4) = false;
  kept[2] = false;
  // W_Q = 0: equal weights over 4 and over 7 tokens.
  const auto start = activation_statistics(*model, {.ids = ids, .kept = kept});
  CHECK(start.at("entropy").at("block_1")[0].get<double>() == near((std::log(4.0) + std::log(7.0)) / 2));
  test::randomise(*model);
  const auto before = activation_statistics(*model, {.ids = ids, .kept = kept});
  ids[0].slice(0, 4) = 0;
  ids[2] = 0;
  CHECK(before == activation_statistics(*model, {.ids = ids, .kept = kept}));
  CHECK(before != activation_statistics(*model, {.ids = ids}));
}

TEST_CASE("root mean square and kurtosis are those of the embeddings and of each block's output", "[statistics]") {
  const auto config = test::resolved(test::small_config("sas_p"));
  auto model = test::random_gpt(config);
  const auto ids = test::random_ids(config);
  const auto line = activation_statistics(*model, {.ids = ids});
  const c10::NoGradGuard no_grad;
  auto states = model->hidden_states({.ids = ids});
  states.back() = model->blocks().back()->forward(states[states.size() - 2], AttentionMask{});
  REQUIRE(line.at("rms").size() == states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    const auto name = i == 0 ? std::string("embedding") : fmt::format("block_{}", i - 1);
    const auto flat = states[i].contiguous().flatten();
    const double* x = flat.data_ptr<double>();
    const auto n = static_cast<double>(flat.numel());
    double mean = 0, squares = 0, second = 0, fourth = 0;
    for (int64_t j = 0; j < flat.numel(); ++j) mean += x[j] / n;
    for (int64_t j = 0; j < flat.numel(); ++j) {
      squares += x[j] * x[j] / n;
      second += std::pow(x[j] - mean, 2) / n;
      fourth += std::pow(x[j] - mean, 4) / n;
    }
    CHECK(line.at("rms").at(name).get<double>() == near(std::sqrt(squares)));
    CHECK(line.at("kurtosis").at(name).get<double>() == near(fourth / (second * second)));
  }
}

TEST_CASE("gradient norms add up from parts to blocks to the whole", "[statistics]") {
  const auto config = test::resolved(test::small_config("sas"));
  auto model = test::random_gpt(config);
  CHECK(gradient_norms(*model, 1).empty());
  model->loss({.ids = test::random_ids(config)}).sum.backward();
  const auto norms = gradient_norms(*model, 1);
  double all = 0, of_block = 0, parts = 0;
  for (const auto& parameter : model->named_parameters()) {
    const double square = parameter.value().grad().square().sum().item<double>();
    all += square;
    if (parameter.key().starts_with("block_1.")) of_block += square;
  }
  double sum = 0;
  for (const auto& [name, norm] : norms.items()) {
    const double square = std::pow(norm.get<double>(), 2);
    if (name.find('.') == name.npos) sum += square;
    if (name.starts_with("block_1.")) parts += square;
  }
  CHECK(sum == Approx(all).epsilon(10 * kWritten));
  CHECK(parts == Approx(of_block).epsilon(10 * kWritten));
  CHECK(norms.at("block_1").get<double>() == near(std::sqrt(of_block)));
  CHECK(norms.contains("block_1.feed_forward"));
  CHECK(norms.contains("block_1.attention"));
  // Gradients that were clipped to a quarter.
  CHECK(gradient_norms(*model, 0.25).at("block_1").get<double>() ==
        Approx(4 * norms.at("block_1").get<double>()).epsilon(2 * kWritten));
}

TEST_CASE("every gain is there under its name, and nothing else", "[statistics]") {
  const auto config = test::resolved(test::small_config("sas"));
  const auto model = test::random_gpt(config);
  const auto values = gains(*model);
  size_t count = 0;
  for (const auto& module : model->named_modules()) {
    if (dynamic_cast<const GainImpl*>(module.value().get()) != nullptr) ++count;
  }
  CHECK(count > 10);
  CHECK(values.size() == count);
  CHECK(values.at("block_0.attention.shape.alpha").size() == static_cast<size_t>(config.n_head));
  CHECK(values.at("block_1.beta_sa").get<double>() ==
        near(model->named_parameters()["block_1.beta_sa.value"].item<double>()));
}

TEST_CASE("lambda and the rms that gains follow are there where a model has them", "[statistics]") {
  const auto plain = test::random_gpt(test::resolved(test::small_config("sas")));
  CHECK(followed(*plain).empty());
  const auto config = test::small_run_config({"model.identity_start.schedule=linear", "model.identity_start.steps=10",
                                              "model.sas.beta_sa.feedback.power=0.5"})
                          .model;
  torch::manual_seed(3);
  Gpt model(config);
  model->train();
  model->begin_step(3);
  model->loss({.ids = test::random_ids(config)}).sum.backward();
  model->end_step(torch::zeros({}));
  const auto line = followed(*model);
  CHECK(line.at("lambda").size() == static_cast<size_t>(config.n_layer));
  CHECK(line.at("lambda").at("block_1").get<double>() == near(0.7));
  // The rms of the first step is the target of those after it.
  CHECK(line.at("branch_rms").at("block_1.beta_sa").get<double>() ==
        near(model->named_buffers()["block_1.beta_sa.feedback_target"].item<double>()));
}

TEST_CASE("statistics leave parameters, gradients, mode and generators as they are", "[statistics]") {
  const auto config = test::resolved(test::small_config("v_skipinit"));
  auto model = test::random_gpt(config);
  const auto ids = test::random_ids(config);
  model->train();
  model->loss({.ids = ids}).sum.backward();
  std::vector<at::Tensor> before;
  for (const auto& parameter : model->parameters()) {
    before.push_back(parameter.detach().clone());
    before.push_back(parameter.grad().clone());
  }
  torch::manual_seed(5);
  const auto expected = torch::rand({3});
  torch::manual_seed(5);
  activation_statistics(*model, {.ids = ids});
  gradient_norms(*model, 1);
  gains(*model);
  CHECK(at::equal(torch::rand({3}), expected));
  CHECK(model->is_training());
  size_t i = 0;
  for (const auto& parameter : model->parameters()) {
    CHECK(at::equal(parameter, before[i++]));
    CHECK(at::equal(parameter.grad(), before[i++]));
  }
}

}  // namespace skipless
