// The figures of `skipless info` against real models and numbers worked out by hand.
#include <torch/nn/module.h>
#include <torch/utils.h>

#include "models/block_variants.h"
#include "models/convert/official.h"
#include "models/model_info.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

ModelConfig paper_size(const std::string& block) {
  ModelConfig config;
  config.block = block;
  config.n_layer = 18;
  config.n_positions = 1024;
  config.resolve();
  return config;
}

}  // namespace

TEST_CASE("The parameter table adds up to the model's trained parameters", "[info]") {
  for (const auto& variant : block_variants()) {
    for (const bool tied : {true, false}) {
      INFO(variant.name << ", tied " << tied);
      auto config = small_config(std::string(variant.name), NormKind::none);
      config.tied_head = tied;
      config.vocab_multiple = 8;
      config.qk_norm = true;
      config.bias = {.query_key = true, .value = true, .projection = true, .feed_forward = true};
      config.resolve();
      const auto check = [&] {
        int64_t actual = 0;
        for (const auto& parameter : make_model(config)->parameters()) actual += parameter.numel();
        CHECK(n_parameters(config) == actual);
      };
      check();
      config.kind = ModelKind::bert;
      config.positions = PositionKind::scaled_sinusoidal;
      config.n_token_types = 3;
      config.embedding_norm = NormKind::layer_norm;
      config.mlm_head = {.transform = true, .bias = true};
      check();
    }
  }
}

TEST_CASE("The crammed encoders have 119.6 M parameters with Pre-LN and 101.3 M with SAS and SAS-P", "[info]") {
  const auto millions = [](const std::string& block) {
    ModelConfig config;
    config.kind = ModelKind::bert;
    config.block = block;
    config.n_layer = 16;
    config.d_ff = 3072;
    config.vocab_size = 32'768;
    config.norm = config.embedding_norm = NormKind::layer_norm;
    config.activation = Activation::geglu;
    config.positions = PositionKind::scaled_sinusoidal;
    config.bias.query_key = false;
    config.resolve();
    return std::round(static_cast<double>(n_parameters(config)) / 1e5) / 10;
  };
  CHECK(millions("pre_ln") == 119.6);
  CHECK(millions("sas") == 101.3);
  CHECK(millions("sas_p") == 101.3);
}

TEST_CASE("The paper's models have 166.7 M and 146.1 M parameters in the authors' counting", "[info]") {
  const auto millions = [](const std::string& block) {
    return std::round(static_cast<double>(official_parameter_count(paper_size(block))) / 1e5) / 10;
  };
  CHECK(millions("pre_ln") == 166.7);
  CHECK(millions("sas") == 146.1);
  CHECK(millions("sas_p") == 146.1);
}

TEST_CASE("FLOPs are 2 per matrix parameter and 4*d per visible key, and three times that in training", "[info]") {
  auto config = small_config("pre_ln");  // 2 layers of 12, d_ff 20, vocabulary 17, T = 7: 4 keys on average
  config.resolve();
  const double matrices = 17 * 12 + 2 * (4 * 12 * 12 + 2 * 12 * 20);
  const double attention = 2 * 4.0 * 12 * 4;
  CHECK(flops_per_token(config).forward == 2 * matrices + attention);
  CHECK(flops_per_token(config).training == 3 * (2 * matrices + attention));
  config.kind = ModelKind::bert;  // every token sees all 7 keys
  CHECK(flops_per_token(config).forward == 2 * matrices + 2 * 4.0 * 12 * 7);
  CHECK(flops_per_token(config, 0.25).forward == 2 * (matrices - 0.75 * 17 * 12) + 2 * 4.0 * 12 * 7);
  config.kind = ModelKind::gpt;
  auto sas = small_config("sas");  // no W_P, and W_V in block 0 alone
  sas.resolve();
  CHECK(flops_per_token(config).forward - flops_per_token(sas).forward == 2.0 * 3 * 12 * 12);
}

TEST_CASE("Memory counts 16 bytes a parameter, and grows linearly with the micro-batch", "[info]") {
  auto config = small_config("sas_p");
  config.resolve();
  const auto one = training_memory(config, 1), three = training_memory(config, 3);
  CHECK(one.weights + one.gradients + one.optimizer == 16.0 * static_cast<double>(n_parameters(config)));
  CHECK(three.activations == 3 * one.activations);
  config.n_layer = 40;
  const auto all = training_memory(config, 3), recomputed = training_memory(config, 3, /*recompute=*/true);
  CHECK(recomputed.activations < all.activations / 5);
  CHECK(recomputed.weights + recomputed.logits == all.weights + all.logits);
  // Vocabulary 17, d_model 12: the 6 predictions of a sequence fit one chunk, twice; and the gradient of the head.
  CHECK(one.logits == 4.0 * 17 * (2 * 6 + 12));
  config.vocab_size = 50'000;
  config.context_length = 128;
  CHECK(training_memory(config, 16).logits == training_memory(config, 160).logits);
}
