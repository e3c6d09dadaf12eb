// What must hold for every row of the table of block variants, under every norm. A new block is picked up by itself.
#include <ATen/ops/allclose.h>
#include <torch/serialize.h>

#include <cmath>
#include <sstream>

#include "models/block_variants.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

constexpr NormKind kNorms[] = {NormKind::rms_norm, NormKind::layer_norm, NormKind::none};

/// Calls `test(config)` for every variant, norm and these kinds of model.
template <class Test>
void for_every_block(std::initializer_list<ModelKind> kinds, Test&& test) {
  for (const ModelKind kind : kinds) {
    for (const auto& variant : block_variants()) {
      for (const NormKind norm : kNorms) {
        INFO(name_of(kind) << ", block " << variant.name << ", norm " << name_of(norm));
        auto config = small_config(std::string(variant.name), norm);
        config.kind = kind;
        test(resolved(config));
      }
    }
  }
}

constexpr auto kBoth = {ModelKind::gpt, ModelKind::bert};

torch::Tensor logits(const Transformer& model, const torch::Tensor& ids) {
  const Batch batch{.ids = ids};
  return model->logits(model->hidden_states(batch).back(), batch);
}

double mean_loss(const Transformer& model, const Batch& batch) {
  const torch::NoGradGuard no_grad;
  const auto loss = model->loss(batch);
  return loss.sum.item<double>() / loss.count.item<double>();
}

}  // namespace

TEST_CASE("Every block keeps the shape of its input", "[blocks]") {
  for_every_block(kBoth, [](const ModelConfig& config) {
    auto model = random_model(config);
    const auto mask = model->attention_mask({});
    for (const auto& block : model->blocks()) {
      const auto x = torch::randn({2, 5, config.d_model}, torch::kFloat64);
      CHECK(block->forward(x, mask).sizes() == x.sizes());
    }
    CHECK(logits(model, random_ids(config)).sizes() == at::IntArrayRef({3, 7, 17}));
  });
}

TEST_CASE("In every block a token changes its own and later positions, and no earlier one", "[blocks]") {
  for_every_block({ModelKind::gpt}, [](const ModelConfig& config) {
    auto gpt = random_gpt(config);
    const torch::NoGradGuard no_grad;
    const auto ids = random_ids(config, 1);
    for (int64_t t = 0; t < config.context_length; ++t) {
      auto changed = ids.clone();
      changed[0][t] = (ids[0][t] + 1) % config.vocab_size;
      const auto difference = (gpt->forward(changed) - gpt->forward(ids)).abs().amax(-1)[0];  // [T]
      if (t > 0) CHECK(difference.slice(0, 0, t).max().item<double>() == 0);
      CHECK(difference.slice(0, t).min().item<double>() > 1e-9);
    }
  });
}

TEST_CASE("In every block of an encoder a token changes all positions", "[blocks]") {
  for_every_block({ModelKind::bert}, [](const ModelConfig& config) {
    auto model = random_model(config);
    const torch::NoGradGuard no_grad;
    const auto ids = random_ids(config, 1);
    for (int64_t t = 0; t < config.context_length; ++t) {
      auto changed = ids.clone();
      changed[0][t] = (ids[0][t] + 1) % config.vocab_size;
      const auto difference = (logits(model, changed) - logits(model, ids)).abs().amax(-1)[0];  // [T]
      CHECK(difference.min().item<double>() > 1e-9);
    }
  });
}

TEST_CASE("Every block's gradients agree with finite differences in float64", "[blocks]") {
  // Central differences over a distance of 1e-5: the third derivative leaves about 1e-9, rounding of a loss of 40 about
  // 1e-9, against gradients of order 1.
  constexpr double kStep = 1e-5, kTolerance = 1e-7;
  for_every_block(kBoth, [&](ModelConfig config) {
    config.activation = Activation::gelu;  // a step across the kink of ReLU has no derivative to agree with
    auto model = random_model(config);
    const auto batch = random_batch(config, 2);
    model->loss(batch).sum.backward();
    for (auto& item : model->named_parameters()) {
      INFO("parameter " << item.key());
      REQUIRE(item.value().grad().defined());
      const torch::NoGradGuard no_grad;
      const auto noise = torch::randn_like(item.value());
      const auto direction = noise / noise.norm();
      const auto original = item.value().clone();
      item.value().copy_(original + kStep * direction);
      const double above = model->loss(batch).sum.item<double>();
      item.value().copy_(original - kStep * direction);
      const double below = model->loss(batch).sum.item<double>();
      item.value().copy_(original);
      const double expected = (item.value().grad() * direction).sum().item<double>();
      CHECK((above - below) / (2 * kStep) == Approx(expected).epsilon(kTolerance).margin(kTolerance));
    }
  });
}

TEST_CASE("A saved model of every block loads into another and computes the same bits", "[blocks]") {
  for_every_block(kBoth, [](const ModelConfig& config) {
    auto model = random_model(config, 1);
    auto other = random_model(config, 2);
    const auto ids = random_ids(config);
    CHECK_FALSE(logits(model, ids).equal(logits(other, ids)));
    std::stringstream file;
    torch::save(model, file);
    torch::load(other, file);
    CHECK(logits(model, ids).equal(logits(other, ids)));
  });
}

TEST_CASE("Every block has as many trainable parameters as its formula says, at every layer", "[blocks]") {
  for_every_block({ModelKind::gpt}, [](const ModelConfig& config) {
    Gpt gpt(config);
    for (int64_t layer = 0; layer < config.n_layer; ++layer) {
      int64_t actual = 0;
      for (const auto& parameter : gpt->blocks()[layer]->parameters()) actual += parameter.numel();
      CHECK(actual == config.block_config().n_parameters(config, layer));
    }
  });
}

TEST_CASE("Every block learns one batch by heart in 50 steps", "[blocks]") {
  for_every_block(kBoth, [](const ModelConfig& config) {
    torch::manual_seed(3);
    auto model = make_model(config);
    const auto batch = random_batch(config, 2);
    const double before = mean_loss(model, batch);
    const auto parameters = model->parameters();
    std::vector<torch::Tensor> first, second;
    for (const auto& p : parameters) {
      first.push_back(torch::zeros_like(p));
      second.push_back(torch::zeros_like(p));
    }
    for (int step = 1; step <= 50; ++step) {
      model->zero_grad();
      const auto loss = model->loss(batch);
      (loss.sum / loss.count).backward();
      const torch::NoGradGuard no_grad;
      for (size_t i = 0; i < parameters.size(); ++i) {  // Adam, written out: this folder has no optimizer
        const auto& grad = parameters[i].grad();
        first[i].mul_(0.9).add_(grad, 0.1);
        second[i].mul_(0.99).addcmul_(grad, grad, 0.01);
        const auto mean = first[i] / (1 - std::pow(0.9, step));
        const auto root = (second[i] / (1 - std::pow(0.99, step))).sqrt() + 1e-8;
        parameters[i].addcdiv_(mean, root, -0.02);
      }
    }
    CHECK(mean_loss(model, batch) < 0.2 * before);
  });
}
