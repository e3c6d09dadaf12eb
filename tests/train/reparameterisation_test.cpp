// Appendix A of He & Hofmann: W_init + beta*dW, trained at the rate lr, moves as W itself at beta*lr under Adam, and at
// beta^2*lr under SGD.
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "configs/config_file.h"
#include "models/gpt.h"
#include "train/accumulation.h"
#include "train/adamw.h"
#include "train/module_state.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

constexpr double kBeta = 0.375;  // which float32, in which a gain is made, holds exactly
constexpr int64_t kSteps = 8;

/// Nothing whose gradient is 0 by construction, which Adam without eps would divide by 0: no ReLU, no bias of the keys,
/// no table of positions of which the last is never used.
Gpt model_with(const std::string& kind) {
  torch::manual_seed(51);
  std::vector<std::string> overrides;
  for (const std::string map : {"value", "projection"}) {
    overrides.push_back("pre_ln." + map + ".kind=" + kind);
    if (kind == "gained") overrides.push_back(fmt::format("pre_ln.{}.beta.init={}", map, kBeta));
  }
  Gpt model(
      parse_config<ModelConfig>("{block: pre_ln, n_layer: 2, d_model: 12, n_head: 3, d_ff: 20, vocab_size: 17, "
                                "context_length: 7, init_std: 0.3,\n"
                                " activation: gelu, positions: sinusoidal, bias: {query_key: false}}",
                                "test", overrides));
  model->to(at::kDouble);
  return model;
}

bool is_reparameterised(const std::string& name) {
  return name.find(".value.weight") != name.npos || name.find(".projection.weight") != name.npos;
}

/// The matrices in force, by their place in the stack.
std::vector<at::Tensor> matrices(Gpt& model) {
  std::vector<at::Tensor> all;
  for (const auto& block : model->blocks()) {
    auto attention = block->attention();
    for (const auto& map : {attention->value(), attention->projection()}) all.push_back(map->matrix().detach().clone());
  }
  return all;
}

using Update = std::function<void()>;
/// An optimizer of the reparameterised matrices at their own rate, and of all else at `lr`.
using MakeUpdate = std::function<Update(Gpt& model, double lr, double own_lr)>;

/// The matrices after each step.
std::vector<std::vector<at::Tensor>> trajectory(Gpt& model, const MakeUpdate& make_update, double lr, double own_lr) {
  torch::manual_seed(52);
  const Update update = make_update(model, lr, own_lr);
  std::vector<std::vector<at::Tensor>> result{matrices(model)};
  for (int64_t step = 0; step < kSteps; ++step) {
    const auto ids = at::randint(17, {4, 7}, at::kLong);
    accumulate_gradients(model->parameters(), 1, [&](int64_t) { return model->loss({.ids = ids}); });
    if (step == 0) {
      for (const auto& item : model->named_parameters()) {
        INFO(item.key());
        REQUIRE(item.value().grad().abs().min().item<double>() > 0);
      }
    }
    update();
    result.push_back(matrices(model));
  }
  return result;
}

Update adam(Gpt& model, double lr, double own_lr) {
  const OptimizerConfig config{.optimizer = OptimizerKind::adamw, .eps = 0, .weight_decay = 0};
  ParameterGroup own, others;
  for (const auto& item : model->named_parameters()) {
    (is_reparameterised(item.key()) ? own : others).parameters.push_back({item.key(), item.value()});
  }
  auto of_own = std::make_shared<AdamW>(std::vector{own}, config);
  auto of_others = std::make_shared<AdamW>(std::vector{others}, config);
  return [=] {
    of_own->step(own_lr);
    of_others->step(lr);
  };
}

Update sgd(Gpt& model, double lr, double own_lr) {
  return [=] {
    const c10::NoGradGuard no_grad;
    for (const auto& item : model->named_parameters()) {
      item.value().sub_(item.value().grad(), is_reparameterised(item.key()) ? own_lr : lr);
    }
  };
}

/// The largest difference in the matrices over all steps, relative to how far they moved.
double difference(const MakeUpdate& make_update, double lr, double plain_lr) {
  auto gained = model_with("gained"), plain = model_with("plain");
  {
    const c10::NoGradGuard no_grad;
    auto from = module_state(*gained);
    for (auto& [name, tensor] : module_state(*plain)) {
      const auto init = name.substr(0, name.rfind('.')) + ".w_init";
      tensor.copy_(from.at(is_reparameterised(name) ? init : name));
    }
  }
  const auto a = trajectory(gained, make_update, lr, lr), b = trajectory(plain, make_update, lr, plain_lr);
  double apart = 0, moved = 0;
  for (size_t step = 0; step < a.size(); ++step) {
    for (size_t i = 0; i < a[step].size(); ++i) {
      apart = std::max(apart, (a[step][i] - b[step][i]).abs().max().item<double>());
      moved = std::max(moved, (b[step][i] - b[0][i]).abs().max().item<double>());
    }
  }
  REQUIRE(moved > 1e-3);
  return apart / moved;
}

// Float64 through eight steps, in which Adam divides gradients by their own size.
constexpr double kTrajectory = 1e-10;

}  // namespace

TEST_CASE("A reparameterised matrix moves under Adam as a plain one does at beta times the rate", "[reparameterised]") {
  constexpr double kLr = 0.01;
  CHECK(difference(adam, kLr, kBeta * kLr) < kTrajectory);
  // The test can fail: at SGD's rate it moves otherwise.
  CHECK(difference(adam, kLr, kBeta * kBeta * kLr) > 0.1);
}

TEST_CASE("A reparameterised matrix moves under SGD as a plain one does at beta^2 times the rate",
          "[reparameterised]") {
  constexpr double kLr = 0.01;
  CHECK(difference(sgd, kLr, kBeta * kBeta * kLr) < kTrajectory);
  CHECK(difference(sgd, kLr, kBeta * kLr) > 0.1);
}

}  // namespace skipless
