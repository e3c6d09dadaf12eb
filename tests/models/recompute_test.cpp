// Blocks that run forward again for their backward: the same numbers, less memory.
#include "models/recompute.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/full.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include "configs/config_file.h"
#include "models/block_variants.h"
#include "tests/models/peak_memory.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

/// Loss, gradients and buffers after one step from a seed, then a draw from the generator.
std::vector<torch::Tensor> step(const ModelConfig& config, bool recompute, at::ScalarType dtype) {
  torch::manual_seed(31);
  const auto model = make_model(config);
  model->to(dtype);
  randomise(*model);
  model->set_recompute(recompute);
  const auto ids = random_ids(config);
  auto kept = torch::ones({3, config.context_length}, torch::kBool);
  kept[1].slice(0, 4) = false;
  model->begin_step(1);
  const auto loss =
      model->loss({.ids = ids, .labels = ids.masked_fill(kept.logical_not(), kIgnoredTarget), .kept = kept}).sum;
  // The backward must not depend on what happens around it.
  const auto drawn = torch::randn({3});
  at::autocast::clear_cache();
  const bool autocast = at::autocast::is_autocast_enabled(at::kCPU);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  loss.backward();
  at::autocast::set_autocast_enabled(at::kCPU, autocast);
  model->end_step(at::full({}, 0.0));
  std::vector<torch::Tensor> results{loss.detach(), drawn, torch::randn({3})};
  for (const auto& parameter : model->parameters()) results.push_back(parameter.grad());
  for (const auto& buffer : model->buffers()) results.push_back(buffer);
  return results;
}

void require_same(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    INFO("result " << i);
    REQUIRE(a[i].defined() == b[i].defined());
    if (a[i].defined()) CHECK(a[i].equal(b[i]));
  }
}

/// Everything that recomputation could disturb: dropout everywhere, feedback, a half-faded identity start.
ModelConfig everything(const std::string& block) {
  return parse_config<ModelConfig>(
      write_config(small_config(block)), "test",
      {"dropout.embedding=0.1", "dropout.attention=0.2", "dropout.branch=0.3", block + ".beta_sa.feedback.power=0.5",
       block + ".beta_ff.feedback.power=0.5", "identity_start.schedule=linear", "identity_start.steps=2"});
}

}  // namespace

TEST_CASE("Recomputation changes no bit of loss, gradients, feedback and random numbers, with dropout on",
          "[recompute]") {
  for (const auto kind : {ModelKind::gpt, ModelKind::bert}) {
    for (const auto& variant : block_variants()) {
      INFO(name_of(kind) << ", " << variant.name);
      auto config = everything(std::string(variant.name));
      config.kind = kind;
      require_same(step(config, true, at::kDouble), step(config, false, at::kDouble));
    }
  }
}

TEST_CASE("Recomputation runs under the autocast of the first pass", "[recompute][autocast]") {
  for (const auto dtype : {at::kBFloat16, at::kHalf}) {
    const auto config = everything("sas");
    const auto exact = step(config, true, at::kFloat);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
    const auto with = step(config, true, at::kFloat), without = step(config, false, at::kFloat);
    CHECK(at::autocast::is_autocast_cache_enabled());
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::clear_cache();
    require_same(with, without);
    CHECK_FALSE(with[3].equal(exact[3]));
  }
}

TEST_CASE("Without gradients, recomputation does nothing", "[recompute]") {
  auto gpt = random_gpt(resolved(small_config("sas_p")));
  const auto ids = random_ids(gpt->config());
  const torch::NoGradGuard no_grad;
  const auto ordinary = gpt->loss({.ids = ids}).sum;
  gpt->set_recompute(true);
  CHECK(gpt->loss({.ids = ids}).sum.equal(ordinary));
}

TEST_CASE("With recomputation the activations of 12 blocks take less than those of 3", "[recompute][memory]") {
  auto config = small_config("sas");
  config.n_layer = 12;
  config.d_model = 48;
  config.n_head = 4;
  config.d_ff = 192;
  config.context_length = 64;
  config.resolve();
  torch::manual_seed(32);
  Gpt gpt(config);
  const auto ids = random_ids(config, 16);
  const auto peak = [&](bool recompute) {
    gpt->set_recompute(recompute);
    gpt->zero_grad(/*set_to_none=*/true);
    return static_cast<double>(peak_bytes([&] { gpt->loss({.ids = ids}).sum.backward(); }));
  };
  const double with = peak(true), without = peak(false);
  INFO(with / 1e6 << " MB against " << without / 1e6 << " MB");
  CHECK(with < without * 3 / 12);
}
