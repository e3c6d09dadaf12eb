#include "train/parameter_groups.h"

#include <ATen/ops/zeros_like.h>

#include <map>
#include <set>
#include <string>

#include "models/block_variants.h"
#include "models/gpt.h"
#include "models/make_model.h"
#include "train/adamw.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

Gpt small_gpt(const std::string& block, bool all_biases) {
  ModelConfig config;
  config.block = block;
  config.n_layer = 2;
  config.d_model = 12;
  config.n_head = 3;
  config.vocab_size = 17;
  config.context_length = 7;
  config.qk_norm = true;
  if (all_biases) config.bias = {.query_key = true, .value = true, .projection = true, .feed_forward = true};
  config.resolve();
  return Gpt(config);
}

}  // namespace

TEST_CASE("every trainable tensor of every block is in exactly one group", "[groups]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    Gpt gpt = small_gpt(std::string(variant.name), true);
    std::map<const at::TensorImpl*, int> seen;
    for (const auto& group : parameter_groups(*gpt, 0.1)) {
      for (const auto& parameter : group.parameters) ++seen[parameter.tensor.unsafeGetTensorImpl()];
    }
    size_t trainable = 0;
    for (const auto& parameter : gpt->parameters()) {
      if (!parameter.requires_grad()) continue;
      ++trainable;
      CHECK(seen[parameter.unsafeGetTensorImpl()] == 1);
    }
    CHECK(seen.size() == trainable);
  }
}

TEST_CASE("decay reaches an encoder's matrices and none of its norms, biases and scales", "[groups]") {
  ModelConfig config;
  config.kind = ModelKind::bert;
  config.block = "sas_p";
  config.n_layer = 1;
  config.d_model = 12;
  config.n_head = 3;
  config.vocab_size = 17;
  config.context_length = 7;
  config.positions = PositionKind::scaled_sinusoidal;
  config.embedding_norm = NormKind::layer_norm;
  config.n_token_types = 2;
  config.mlm_head = {.transform = true, .bias = true};
  config.resolve();
  const auto model = make_model(config);
  const auto groups = parameter_groups(*model, 0.1);
  std::set<std::string> decayed;
  for (const auto& parameter : groups.at(0).parameters) decayed.insert(parameter.name);
  CHECK(decayed == std::set<std::string>{"embedding.tokens", "embedding.token_types", "block_0.attention.w_qk",
                                         "block_0.attention.value.weight", "block_0.feed_forward.w_1",
                                         "block_0.feed_forward.w_2", "mlm_transform.w"});
  CHECK(decayed.size() + groups.at(1).parameters.size() == model->parameters().size());
}

TEST_CASE("decay reaches matrices and embeddings alone, and a frozen tensor is in no group", "[groups]") {
  Gpt gpt = small_gpt("sas", true);
  gpt->named_parameters()["block_0.feed_forward.w_1"].requires_grad_(false);
  std::set<std::string> decayed, undecayed;
  const auto groups = parameter_groups(*gpt, 0.1);
  for (const auto& parameter : groups.at(0).parameters) decayed.insert(parameter.name);
  for (const auto& parameter : groups.at(1).parameters) undecayed.insert(parameter.name);
  CHECK(decayed == std::set<std::string>{"embedding.tokens", "embedding.positions", "block_0.attention.w_qk",
                                         "block_0.attention.value.weight", "block_0.feed_forward.w_2",
                                         "block_1.attention.w_qk", "block_1.feed_forward.w_1",
                                         "block_1.feed_forward.w_2"});
  for (const char* name :
       {"block_0.norm_1.scale", "block_1.norm_2.scale", "block_0.attention.b_qk", "block_0.attention.value.alpha.value",
        "block_0.attention.value.beta.value", "block_1.attention.shape.alpha.value", "block_1.beta_sa.value",
        "block_0.attention.q_norm.scale", "block_0.feed_forward.b_1", "final_norm.weight", "final_norm.bias"}) {
    CHECK(undecayed.contains(name));
  }
  CHECK(groups.at(0).weight_decay == 0.1);
  CHECK(groups.at(1).weight_decay == 0);
}

TEST_CASE("one step with zero gradients shrinks matrices by 1 - lr*wd and leaves all else alone", "[groups][adamw]") {
  const auto kind = GENERATE(OptimizerKind::adamw, OptimizerKind::adamw_hf);
  Gpt gpt = small_gpt("sas", false);
  // Matrices that start at 0 would shrink unseen.
  for (auto& parameter : gpt->parameters()) parameter.data().add_(0.5);
  std::map<std::string, at::Tensor> before;
  for (const auto& item : gpt->named_parameters()) {
    before.emplace(item.key(), item.value().detach().clone());
    item.value().mutable_grad() = at::zeros_like(item.value());
  }
  OptimizerConfig config;
  config.optimizer = kind;
  config.weight_decay = 0.1;
  AdamW optimizer(parameter_groups(*gpt, config.weight_decay), config);
  optimizer.step(1e-2);
  int matrices = 0;
  for (const auto& item : gpt->named_parameters()) {
    INFO(item.key());
    const auto& old = before.at(item.key());
    if (item.value().dim() == 2) {
      ++matrices;
      // Two float32 roundings, of p and of the product.
      constexpr double kTwoRoundings = 1.3e-7;
      const auto expected = old.to(at::kDouble) * (1 - 1e-3);
      CHECK(((item.value().to(at::kDouble) - expected).abs() / expected.abs()).max().item<double>() < kTwoRoundings);
    } else {
      CHECK(item.value().equal(old));
    }
  }
  CHECK(matrices == 9);
}

TEST_CASE("the description names every kind of tensor once, with its size", "[groups]") {
  Gpt gpt = small_gpt("pre_ln", false);
  const std::string text = describe(parameter_groups(*gpt, 0.1));
  CHECK(text.find("decayed, weight decay 0.1: 12 tensors") != std::string::npos);
  CHECK(text.find("2 x block_*.feed_forward.w_1: 1152") != std::string::npos);
  CHECK(text.find("undecayed, weight decay 0:") != std::string::npos);
}

}  // namespace skipless
