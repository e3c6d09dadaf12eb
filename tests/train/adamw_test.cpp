#include "train/adamw.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <string>
#include <vector>

#include "configs/error.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

constexpr double kLr = 3e-3;

struct Plain {
  std::vector<double> p, m, v;
};

/// One update of both rules as they are written in adamw.h, element by element.
void plain_step(OptimizerKind kind, const OptimizerConfig& config, double weight_decay, Plain& state,
                const std::vector<double>& g, double t) {
  const double c1 = 1 - std::pow(config.beta1, t), c2 = 1 - std::pow(config.beta2, t);
  for (size_t i = 0; i < g.size(); ++i) {
    double& p = state.p[i];
    double& m = state.m[i];
    double& v = state.v[i];
    m = config.beta1 * m + (1 - config.beta1) * g[i];
    v = config.beta2 * v + (1 - config.beta2) * g[i] * g[i];
    if (kind == OptimizerKind::adamw) {
      p -= kLr * weight_decay * p;
      p -= kLr * (m / c1) / (std::sqrt(v / c2) + config.eps);
    } else {
      p -= kLr * std::sqrt(c2) / c1 * m / (std::sqrt(v) + config.eps);
      p -= kLr * weight_decay * p;
    }
  }
}

std::vector<double> values(const at::Tensor& tensor) {
  const auto flat = tensor.detach().contiguous().flatten();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

at::Tensor parameter(std::vector<int64_t> shape) {
  return at::randn(shape, at::kDouble).requires_grad_();
}

OptimizerConfig options(OptimizerKind kind) {
  OptimizerConfig config;
  config.optimizer = kind;
  config.eps = 1e-3;  // large, so that where it is added shows
  return config;
}

}  // namespace

TEST_CASE("both rules agree with a plain loop in float64", "[adamw]") {
  const auto kind = GENERATE(OptimizerKind::adamw, OptimizerKind::adamw_hf);
  const auto config = options(kind);
  const std::vector<ParameterGroup> groups{{"decayed", 0.1, {{"a", parameter({7, 13})}, {"b", parameter({1, 1})}}},
                                           {"undecayed", 0, {{"c", parameter({37})}}}};
  std::vector<Plain> plain;
  for (const auto& group : groups) {
    for (const auto& item : group.parameters) {
      const auto n = static_cast<size_t>(item.tensor.numel());
      plain.push_back({values(item.tensor), std::vector<double>(n), std::vector<double>(n)});
    }
  }
  AdamW optimizer(groups, config);
  for (int t = 1; t <= 8; ++t) {
    size_t index = 0;
    for (const auto& group : groups) {
      for (const auto& item : group.parameters) {
        item.tensor.mutable_grad() = at::randn(item.tensor.sizes(), at::kDouble);
        plain_step(kind, config, group.weight_decay, plain[index++], values(item.tensor.grad()), t);
      }
    }
    optimizer.step(kLr);
  }
  size_t index = 0;
  for (const auto& group : groups) {
    for (const auto& item : group.parameters) {
      const auto ours = values(item.tensor);
      // Some ten roundings a step, of values of size 1.
      for (size_t i = 0; i < ours.size(); ++i) CHECK(std::abs(ours[i] - plain[index].p[i]) < 1e-14);
      ++index;
    }
  }
}

TEST_CASE("a skipped step changes nothing, not even the count of steps", "[adamw]") {
  const auto kind = GENERATE(OptimizerKind::adamw, OptimizerKind::adamw_hf);
  const auto p = parameter({5, 5});
  AdamW optimizer({{"decayed", 0.1, {{"p", p}}}}, options(kind));
  p.mutable_grad() = at::randn({5, 5}, at::kDouble);
  optimizer.step(kLr, at::zeros({}));
  const auto before = p.detach().clone();
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : optimizer.state()) state.emplace(name, tensor.clone());
  CHECK(state.at("p.step").item<float>() == 1);
  optimizer.step(kLr, at::ones({}));
  CHECK(p.equal(before));
  for (const auto& [name, tensor] : optimizer.state()) CHECK(tensor.equal(state.at(name)));
}

TEST_CASE("a parameter without a gradient is left alone, but has state", "[adamw]") {
  const auto kind = GENERATE(OptimizerKind::adamw, OptimizerKind::adamw_hf);
  const auto used = parameter({3, 3}), unused = parameter({3, 3});
  const auto before = unused.detach().clone();
  AdamW optimizer({{"decayed", 0.1, {{"used", used}, {"unused", unused}}}}, options(kind));
  used.mutable_grad() = at::ones({3, 3}, at::kDouble);
  optimizer.step(kLr);
  CHECK(unused.equal(before));
  CHECK(optimizer.state().size() == 6);
  CHECK(optimizer.state().at("unused.step").item<float>() == 0);
}

TEST_CASE("a loaded state goes on like the one that was saved", "[adamw]") {
  const auto kind = GENERATE(OptimizerKind::adamw, OptimizerKind::adamw_hf);
  const auto p = parameter({4, 6});
  AdamW optimizer({{"decayed", 0.1, {{"p", p}}}}, options(kind));
  const auto take_step = [](AdamW& o, const at::Tensor& t, double g) {
    t.mutable_grad() = at::ones({4, 6}, at::kDouble) * g;
    o.step(kLr);
  };
  take_step(optimizer, p, 0.3);
  const auto q = p.detach().clone().requires_grad_();
  AdamW other({{"decayed", 0.1, {{"p", q}}}}, options(kind));
  other.load(optimizer.state(), "test");
  take_step(optimizer, p, -2);
  take_step(other, q, -2);
  CHECK(q.equal(p));
}

TEST_CASE("a state of another model is refused by tensor and shape", "[adamw]") {
  AdamW optimizer({{"decayed", 0.1, {{"p", parameter({4, 6})}}}}, {});
  AdamW other({{"decayed", 0.1, {{"p", parameter({4, 5})}}}}, {});
  CHECK_THROWS_WITH(optimizer.load(other.state(), "file"), Catch::Contains("file") && Catch::Contains("p.exp_avg") &&
                                                               Catch::Contains("[4, 5]") && Catch::Contains("[4, 6]"));
}

}  // namespace skipless
