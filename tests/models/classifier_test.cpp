// Heads for whole sequences: classes and numbers, pooling, padding, and trunks that move from model to model.
#include "models/classifier.h"

#include <ATen/ops/full.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <cmath>

#include "configs/config_file.h"
#include "models/block_variants.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

constexpr double kRounding = 1e-12;  // as in bert_test.cpp

ModelConfig small_bert(const std::string& block) {
  auto config = small_config(block, NormKind::layer_norm);
  config.kind = ModelKind::bert;
  return resolved(config);
}

Classifier random_classifier(const ModelConfig& config, const ClassifierConfig& head, uint64_t seed = 1) {
  torch::manual_seed(seed);
  auto model = make_classifier(config, head);
  model->to(torch::kFloat64);
  randomise(*model);
  model->eval();
  return model;
}

double largest(const torch::Tensor& x) {
  return x.abs().max().item<double>();
}

torch::Tensor parameter(const Classifier& model, const std::string& name) {
  return *model->named_parameters().find(name);
}

/// The head's section as a file of its own.
struct HeadFile : ClassifierConfig {
  void resolve() {}
  void check(Problems&) const {}
};

torch::Tensor padded_to_seven() {
  auto kept = torch::ones({3, 7}, torch::kBool);
  kept[0].slice(0, 4) = false;
  kept[2].slice(0, 1) = false;
  return kept;
}

}  // namespace

TEST_CASE("Logits are W_2 q + b_2 of the pooled state, through tanh(W_1 p + b_1) where there is a hidden layer",
          "[classifier]") {
  const auto config = small_bert("sas");
  const auto ids = random_ids(config), kept = padded_to_seven();
  for (const auto pooling : {Pooling::cls, Pooling::mean}) {
    for (const int64_t width : {0, 12, 19}) {
      INFO(name_of(pooling) << ", width " << width);
      const ClassifierConfig head{.n_labels = 3,
                                  .pooling = pooling,
                                  .hidden_layer = width > 0,
                                  .hidden_width = width == 12 ? std::optional<int64_t>() : width};
      auto model = random_classifier(config, head);
      const torch::NoGradGuard no_grad;
      for (const bool padded : {false, true}) {
        const Batch batch{.ids = ids, .kept = padded ? kept : torch::Tensor()};
        const auto h = model->hidden_states(batch).back();
        std::vector<torch::Tensor> pooled;
        for (int64_t b = 0; b < 3; ++b) {
          const int64_t length = padded ? kept[b].sum().item<int64_t>() : 7;
          pooled.push_back(pooling == Pooling::cls ? h[b][0] : h[b].slice(0, 0, length).mean(0));
        }
        auto q = torch::stack(pooled);
        if (width > 0) q = (torch::matmul(q, parameter(model, "head_w_1").t()) + parameter(model, "head_b_1")).tanh();
        const auto expected = torch::matmul(q, parameter(model, "head_w_2").t()) + parameter(model, "head_b_2");
        const auto logits = model->forward(batch);
        CHECK(logits.sizes() == at::IntArrayRef({3, 3}));
        CHECK(largest(logits - expected) < kRounding);
      }
    }
  }
}

TEST_CASE("A padded batch gives each sequence the logits that it gets alone, with either pooling and every block",
          "[classifier]") {
  for (const auto& variant : block_variants()) {
    for (const auto pooling : {Pooling::cls, Pooling::mean}) {
      INFO(variant.name << ", " << name_of(pooling));
      const auto config = small_bert(std::string(variant.name));
      auto model = random_classifier(config, {.n_labels = 2, .pooling = pooling, .hidden_width = {}});
      const torch::NoGradGuard no_grad;
      const auto ids = random_ids(config), kept = padded_to_seven();
      const auto together = model->forward({.ids = ids, .kept = kept});
      for (int64_t b = 0; b < 3; ++b) {
        const int64_t length = kept[b].sum().item<int64_t>();
        const auto alone = model->forward({.ids = ids.slice(0, b, b + 1).slice(1, 0, length)});
        CHECK(largest(together[b] - alone[0]) < kRounding);
      }
    }
  }
}

TEST_CASE("A classification's loss is the sum of -log softmax of the labels that count", "[classifier]") {
  const auto config = small_bert("pre_ln");
  auto model = random_classifier(config, {.n_labels = 3, .hidden_width = {}});
  Batch batch{.ids = random_ids(config), .labels = torch::tensor({2, 0, 1}, torch::kInt64)};
  const torch::NoGradGuard no_grad;
  const auto p = model->forward(batch).softmax(-1);
  const auto minus_log = [&](int64_t b, int64_t label) { return -std::log(p[b][label].item<double>()); };
  const auto all = model->loss(batch);
  CHECK(all.sum.item<double>() == Approx(minus_log(0, 2) + minus_log(1, 0) + minus_log(2, 1)).epsilon(kRounding));
  CHECK(all.count.item<int64_t>() == 3);
  batch.labels[1] = kIgnoredTarget;
  const auto two = model->loss(batch);
  CHECK(two.sum.item<double>() == Approx(minus_log(0, 2) + minus_log(2, 1)).epsilon(kRounding));
  CHECK(two.count.item<int64_t>() == 2);
}

TEST_CASE("A regression's loss is the sum of squared errors of B numbers, which nothing can broadcast",
          "[classifier]") {
  const auto config = small_bert("sas_p");
  auto model = random_classifier(config, {.n_labels = 1, .hidden_width = {}});
  const auto ids = random_ids(config);
  const auto labels = torch::tensor({0.5, 5.0, 2.25}, torch::kFloat32);
  const torch::NoGradGuard no_grad;
  const auto outputs = model->forward({.ids = ids});
  REQUIRE(outputs.sizes() == at::IntArrayRef({3, 1}));
  double expected = 0;
  for (int64_t b = 0; b < 3; ++b) expected += std::pow(outputs[b][0].item<double>() - labels[b].item<double>(), 2);
  const auto loss = model->loss({.ids = ids, .labels = labels});
  CHECK(loss.sum.item<double>() == Approx(expected).epsilon(kRounding));
  CHECK(loss.count.item<int64_t>() == 3);
  for (const auto& wrong :
       {labels.unsqueeze(1), labels.slice(0, 0, 1), labels.unsqueeze(0), labels[0], labels.to(torch::kInt64)}) {
    CHECK_THROWS(model->loss({.ids = ids, .labels = wrong}));
  }
  auto classes = random_classifier(config, {.n_labels = 2, .hidden_width = {}});
  for (const auto& wrong : {labels, labels.to(torch::kInt64).unsqueeze(1)}) {
    CHECK_THROWS(classes->loss({.ids = ids, .labels = wrong}));
  }
  CHECK_THROWS(classes->loss({.ids = ids, .labels = torch::tensor({0, 1, 2}, torch::kInt64)}));
}

TEST_CASE("Gradients of both heads agree with finite differences in float64", "[classifier]") {
  constexpr double kStep = 1e-5, kTolerance = 1e-7;  // as in blocks_test.cpp
  auto config = small_bert("sas");
  config.activation = Activation::gelu;
  for (const int64_t n_labels : {1, 3}) {
    for (const auto pooling : {Pooling::cls, Pooling::mean}) {
      auto model = random_classifier(config, {.n_labels = n_labels, .pooling = pooling, .hidden_width = 5});
      const Batch batch{.ids = random_ids(config),
                        .labels = n_labels > 1 ? torch::tensor({2, 0, 1}, torch::kInt64)
                                               : torch::tensor({0.5, 5.0, 2.25}, torch::kFloat64),
                        .kept = padded_to_seven()};
      model->loss(batch).sum.backward();
      for (auto& item : model->named_parameters()) {
        INFO(n_labels << " labels, " << name_of(pooling) << ", parameter " << item.key());
        REQUIRE(item.value().grad().defined());
        const torch::NoGradGuard no_grad;
        const auto noise = torch::randn_like(item.value());
        const auto direction = noise / noise.norm();
        const auto original = item.value().clone();
        const auto loss_at = [&](double step) {
          item.value().copy_(original + step * direction);
          return model->loss(batch).sum.item<double>();
        };
        const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
        item.value().copy_(original);
        const double expected = (item.value().grad() * direction).sum().item<double>();
        CHECK(slope == Approx(expected).epsilon(kTolerance).margin(kTolerance));
      }
    }
  }
}

TEST_CASE("Dropout of the head acts while training alone", "[classifier]") {
  const auto config = small_bert("pre_ln");
  auto model = random_classifier(config, {.hidden_width = {}, .dropout = 0.5});
  const Batch batch{.ids = random_ids(config)};
  const auto first = model->forward(batch);
  CHECK(first.equal(model->forward(batch)));
  model->train();
  CHECK_FALSE(model->forward(batch).equal(first));
}

TEST_CASE("A causal model cannot be a classifier, and the head's settings are checked", "[classifier]") {
  CHECK_THROWS(make_classifier(resolved(small_config("sas")), {.hidden_width = {}}));
  CHECK_THROWS_AS(parse_config<HeadFile>("pooling: max\n", "head.yaml"), UserError);
  CHECK_THROWS_AS(parse_config<HeadFile>("dropout: 1\n", "head.yaml"), UserError);
  const auto head = parse_config<HeadFile>("pooling: mean\nhidden_width: 1024\n", "head.yaml");
  CHECK(head.pooling == Pooling::mean);
  CHECK(head.hidden_width == 1024);
}

TEST_CASE("Matrices of a new head are N(0, init_std^2), its biases 0", "[classifier]") {
  auto config = small_bert("sas");
  config.init_std = 0.5;
  torch::manual_seed(2);
  const auto model = make_classifier(config, {.n_labels = 200, .hidden_width = 100});
  for (const auto* name : {"head_w_1", "head_w_2"}) {
    // The standard deviation of n values is known to 1/sqrt(2n); n is 1,200 and 20,000.
    CHECK(parameter(model, name).std().item<double>() == Approx(0.5).epsilon(0.1));
  }
  for (const auto* name : {"head_b_1", "head_b_2"}) CHECK(largest(parameter(model, name)) == 0);
}
