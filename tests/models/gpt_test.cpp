// The GPT builder: losses, padded vocabulary, positions, and settings that contradict each other.
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

/// The message of the error that these overrides of a good config give.
std::string complaint(std::vector<std::string> overrides) {
  try {
    parse_config<ModelConfig>("n_layer: 2\n", "model.yaml", overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("The loss is the sum of -log softmax of the next token, over positions that have one", "[gpt]") {
  const auto config = resolved(small_config("sas"));
  auto gpt = random_gpt(config);
  const torch::NoGradGuard no_grad;
  const auto ids = random_ids(config, 2);
  auto labels = ids.clone();
  labels[1].slice(0, 4) = kIgnoredTarget;
  const auto probabilities = gpt->forward(ids).softmax(-1);
  double expected = 0;
  int64_t count = 0;
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t t = 0; t + 1 < 7; ++t) {
      const auto target = labels[b][t + 1].item<int64_t>();
      if (target == kIgnoredTarget) continue;
      expected -= std::log(probabilities[b][t][target].item<double>());
      ++count;
    }
  }
  const auto loss = gpt->loss({.ids = ids, .labels = labels});
  CHECK(loss.count.item<int64_t>() == count);
  CHECK(loss.sum.item<double>() == Approx(expected).epsilon(1e-13));
}

TEST_CASE("A batch in which nothing is counted has loss 0 and zero gradients", "[gpt]") {
  const auto config = resolved(small_config("sas_p"));
  auto gpt = random_gpt(config);
  const auto ids = random_ids(config, 2);
  const auto loss = gpt->loss({.ids = ids, .labels = torch::full_like(ids, kIgnoredTarget)});
  loss.sum.backward();
  CHECK(loss.count.item<int64_t>() == 0);
  CHECK(loss.sum.item<double>() == 0);
  for (const auto& parameter : gpt->parameters()) {
    if (parameter.grad().defined()) CHECK(parameter.grad().abs().max().item<double>() == 0);
  }
}

TEST_CASE("Embedding rows beyond the vocabulary are never predicted and never trained", "[gpt]") {
  auto config = small_config("pre_ln");
  auto padded_config = config;
  padded_config.vocab_multiple = 8;
  auto gpt = random_gpt(resolved(config));
  auto padded = random_gpt(resolved(padded_config));
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : padded->named_parameters()) {
      const auto* source = gpt->named_parameters().find(item.key());
      if (item.key() == "embedding.tokens") {
        item.value().slice(0, 0, 17).copy_(*source);
      } else {
        item.value().copy_(*source);
      }
    }
  }
  const auto ids = random_ids(config);
  CHECK(padded->parameters()[0].size(0) == 24);
  CHECK(padded->forward(ids).sizes() == at::IntArrayRef({3, 7, 17}));
  CHECK((padded->forward(ids) - gpt->forward(ids)).abs().max().item<double>() < 1e-13);
  const auto loss = padded->loss({.ids = ids}), expected = gpt->loss({.ids = ids});
  CHECK(loss.sum.item<double>() == Approx(expected.sum.item<double>()).epsilon(1e-13));
  loss.sum.backward();
  expected.sum.backward();
  const auto gradient = padded->parameters()[0].grad();
  CHECK(gradient.slice(0, 17).abs().max().item<double>() == 0);
  CHECK((gradient.slice(0, 0, 17) - gpt->parameters()[0].grad()).abs().max().item<double>() < 1e-12);
}

TEST_CASE("Sinusoidal positions are sines at even and cosines at odd columns, and are not trained", "[gpt]") {
  auto config = small_config("sas");
  config.positions = PositionKind::sinusoidal;
  Gpt gpt(resolved(config));
  CHECK(gpt->named_parameters().find("embedding.positions") == nullptr);
  const auto table = *gpt->named_buffers().find("embedding.positions");
  for (int64_t p = 0; p < 7; ++p) {
    for (int64_t i = 0; i < 6; ++i) {
      const double angle = static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(i) / 12.0);
      CHECK(table[p][2 * i].item<double>() == Approx(std::sin(angle)).margin(1e-7));
      CHECK(table[p][2 * i + 1].item<double>() == Approx(std::cos(angle)).margin(1e-7));
    }
  }
}

TEST_CASE("An untied head is a matrix of its own", "[gpt]") {
  auto config = small_config("parallel");
  config.tied_head = false;
  auto gpt = random_gpt(resolved(config));
  const auto ids = random_ids(config);
  const auto before = gpt->forward(ids);
  {
    const torch::NoGradGuard no_grad;
    gpt->named_parameters().find("head")->mul_(2);
  }
  CHECK((gpt->forward(ids) - 2 * before).abs().max().item<double>() < 1e-12);
}

TEST_CASE("Padding on the right of a batch does not reach the real tokens of any block", "[gpt]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    const auto config = resolved(small_config(std::string(variant.name)));
    auto gpt = random_gpt(config);
    const torch::NoGradGuard no_grad;
    const auto ids = random_ids(config, 2);
    auto kept = torch::ones({2, 7}, torch::kBool);
    kept[0].slice(0, 4) = false;
    const auto padded = gpt->forward(ids, kept);
    const auto alone = gpt->forward(ids.slice(0, 0, 1).slice(1, 0, 4));
    CHECK((padded[0].slice(0, 0, 4) - alone[0]).abs().max().item<double>() < 1e-12);
    CHECK(padded.isfinite().all().item<bool>());
  }
}

TEST_CASE("Contradictory settings are named in the words of the config", "[gpt][config]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(complaint({"d_model=768", "n_head=7"}),
             Contains("n_head") && Contains("768") && Contains("not divisible"));
  CHECK_THAT(complaint({"block=sas", "sas.value.alpha.trainable=true"}),
             Contains("sas.value.alpha") && Contains("no matrix to scale"));
  CHECK_THAT(complaint({"pre_ln.value.beta.init=0.5"}), Contains("pre_ln.value.beta") && Contains("no matrix"));
  CHECK_THAT(complaint({"pre_ln.value.kind=same"}), Contains("pre_ln.value.kind") && Contains("first_layer_value"));
  CHECK_THAT(complaint({"block=sas", "sas.tie_init=all_blocks"}), Contains("sas.tie_init") && Contains("gained"));
  CHECK_THAT(complaint({"context_length=128", "n_positions=64"}), Contains("n_positions") && Contains("128"));
  CHECK_THAT(complaint({"activation=geglu", "d_ff=31"}), Contains("d_ff") && Contains("odd"));
  CHECK_THAT(complaint({"block=sass"}), Contains("block") && Contains("sas_p") && Contains("v_skipinit"));
  CHECK(complaint({"d_model=768", "n_head=8"}) == "accepted");
}

TEST_CASE("A written model config reads back to the same model", "[gpt][config]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    const auto config = resolved(small_config(std::string(variant.name)));
    const auto text = write_config(config);
    CHECK(write_config(parse_config<ModelConfig>(text, "test")) == text);
  }
}
