// The state at step 0 of every variant, value by value (PAPER: Sections 4 and D.1 of He & Hofmann).
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

ModelConfig wide(const std::string& block) {
  auto config = small_config(block);
  config.d_model = 96;
  config.n_head = 4;
  config.d_ff = 384;
  config.vocab_size = 500;
  return resolved(config);
}

torch::Tensor parameter(Gpt& gpt, const std::string& name) {
  for (const auto& item : gpt->named_parameters()) {
    if (item.key() == name) return item.value();
  }
  FAIL("no parameter " << name);
  return {};
}

bool trains(Gpt& gpt, const std::string& name) {
  for (const auto& item : gpt->named_parameters()) {
    if (item.key() == name) return true;
  }
  return false;
}

torch::Tensor buffer(Gpt& gpt, const std::string& name) {
  for (const auto& item : gpt->named_buffers()) {
    if (item.key() == name) return item.value();
  }
  FAIL("no buffer " << name);
  return {};
}

/// Mean and standard deviation of n normal draws lie within 5 standard errors.
void check_normal(const torch::Tensor& w, double std) {
  const double n = static_cast<double>(w.numel());
  CHECK(std::abs(w.mean().item<double>()) < 5 * std / std::sqrt(n));
  CHECK(std::abs(w.std().item<double>() - std) < 5 * std / std::sqrt(2 * n));
}

void check_all(const torch::Tensor& w, double value) {
  CHECK(w.detach().to(torch::kFloat64).sub(static_cast<float>(value)).abs().max().item<double>() == 0);
}

}  // namespace

TEST_CASE("Matrices start at N(0, 0.02^2), biases at 0 and norm scales at 1", "[initial state]") {
  torch::manual_seed(1);
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    Gpt gpt(wide(std::string(variant.name)));
    check_normal(parameter(gpt, "embedding.tokens"), 0.02);
    check_normal(parameter(gpt, "block_1.feed_forward.w_1"), 0.02);
    check_normal(parameter(gpt, "block_1.feed_forward.w_2"), 0.02);
    check_normal(parameter(gpt, "block_1.attention.w_qk").slice(0, 96), 0.02);
    check_all(parameter(gpt, "block_1.attention.b_qk"), 0);
    check_all(parameter(gpt, "final_norm.weight"), 1);
    check_all(parameter(gpt, "final_norm.bias"), 0);
  }
}

TEST_CASE("Queries start at zero in the skipless blocks and at N(0, 0.02^2) elsewhere", "[initial state]") {
  torch::manual_seed(2);
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    const std::string name(variant.name);
    Gpt gpt(wide(name));
    const auto queries = parameter(gpt, "block_1.attention.w_qk").slice(0, 0, 96);
    if (name == "v_skipinit" || name == "sas" || name == "sas_p") {
      check_all(queries, 0);
    } else {
      check_normal(queries, 0.02);
    }
  }
}

TEST_CASE("SAS and SAS-P train alpha, beta, gamma per head from 1 and have no value matrix after block 0",
          "[initial state]") {
  for (const std::string name : {"sas", "sas_p"}) {
    INFO(name);
    Gpt gpt(wide(name));
    for (const std::string gain : {"alpha", "beta", "gamma"}) {
      const auto value = parameter(gpt, "block_1.attention.shape." + gain + ".value");
      CHECK(value.sizes() == at::IntArrayRef({4, 1, 1}));
      check_all(value, 1);
    }
    check_all(parameter(gpt, "block_1.beta_sa.value"), 1);
    check_all(parameter(gpt, "block_0.attention.value.weight"), 0);
    check_all(parameter(gpt, "block_0.attention.value.alpha.value"), 1);
    check_all(parameter(gpt, "block_0.attention.value.beta.value"), 1);
    CHECK(buffer(gpt, "block_0.attention.value.w_init").equal(torch::eye(96)));
    CHECK_FALSE(trains(gpt, "block_1.attention.value.weight"));
    CHECK_FALSE(trains(gpt, "block_0.attention.projection.weight"));
    CHECK_FALSE(trains(gpt, "block_0.alpha_sa.value"));
    CHECK(trains(gpt, "block_0.alpha_ff.value") == (name == "sas"));
  }
}

TEST_CASE("beta_ff starts at 0.1 * sqrt(18 / n_layer) in the skipless blocks, at a fixed 0.2 in OP and at 1 elsewhere",
          "[initial state]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    const std::string name(variant.name);
    Gpt gpt(wide(name));
    if (name == "v_skipinit" || name == "sas" || name == "sas_p") {
      check_all(parameter(gpt, "block_0.beta_ff.value"), 0.1 * std::sqrt(18.0 / 2.0));
    } else {
      check_all(buffer(gpt, "block_0.beta_ff.value"), name == "op" ? 0.2 : 1);
    }
  }
  auto deep = small_config("sas");
  deep.n_layer = 18;
  check_all(parameter(*std::make_unique<Gpt>(resolved(deep)), "block_17.beta_ff.value"), 0.1);
}

TEST_CASE("V-SkipInit starts with orthogonal W_V and W_P, and Eq. 4 with beta 0 and no C", "[initial state]") {
  torch::manual_seed(3);
  auto config = wide("v_skipinit");
  Gpt shaped(config);
  for (const std::string map : {"value", "projection"}) {
    const auto w = parameter(shaped, "block_1.attention." + map + ".weight");
    CHECK((w.mm(w.t()) - torch::eye(96)).abs().max().item<double>() < 1e-5);  // float32 QR of a 96 x 96 matrix
  }
  check_all(parameter(shaped, "block_1.attention.shape.gamma.value"), 1);

  auto unresolved = small_config("v_skipinit");
  const auto eq4 = parse_config<ModelConfig>(write_config(unresolved), "test", {"v_skipinit.form=eq4"});
  Gpt gpt(eq4);
  check_all(parameter(gpt, "block_1.attention.shape.alpha.value"), 1);
  check_all(parameter(gpt, "block_1.attention.shape.beta.value"), 0);
  check_all(buffer(gpt, "block_1.attention.shape.gamma.value"), 0);
}

TEST_CASE("Without norms block 0 still begins with a LayerNorm, and the final LayerNorm stays", "[initial state]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    auto config = small_config(std::string(variant.name), NormKind::none);
    Gpt gpt(resolved(config));
    int norms = 0;
    for (const auto& item : gpt->named_parameters()) {
      if (item.key().find("norm") == std::string::npos || item.key().find(".attention.") != std::string::npos) continue;
      ++norms;
      CHECK((item.key().find("block_0.norm") == 0 || item.key().find("final_norm") == 0));
    }
    CHECK(norms == 4);
  }
}

TEST_CASE("Tied projections undo the values at the start", "[initial state]") {
  torch::manual_seed(4);
  for (const std::string tie : {"all_blocks", "last_block"}) {
    INFO(tie);
    auto config = small_config("sas");
    config.n_layer = 3;
    const auto tied = parse_config<ModelConfig>(
        write_config(config), "test",
        {"sas.tie_init=" + tie, "sas.value.kind=gained", "sas.value.init.kind=orthogonal",
         "sas.first_layer_value.kind=same", "sas.projection.kind=gained", "sas.projection.init.kind=orthogonal"});
    Gpt gpt(tied);
    auto product = torch::eye(12);
    for (const auto& block : gpt->blocks()) {
      auto attention = block->attention();
      product = torch::mm(attention->projection()->matrix(), torch::mm(attention->value()->matrix(), product));
      const bool undone = (product - torch::eye(12)).abs().max().item<double>() < 1e-5;  // float32 products
      CHECK(undone == (tie == "all_blocks" || block == gpt->blocks().back()));
    }
  }
}
