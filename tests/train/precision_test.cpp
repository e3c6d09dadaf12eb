// Choosing a precision, autocast and what stays float32 under it, and training in fp16 and bf16 on a CPU.
#include "train/precision.h"

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <cmath>
#include <string>
#include <vector>

#include "configs/error.h"
#include "models/block_variants.h"
#include "models/norm.h"
#include "models/shaped_attention.h"
#include "tests/train/small_run.h"
#include "train/accumulation.h"
#include "train/autocast.h"
#include "train/clip.h"
#include "train/learner.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

// Rounding of a product's operands: 2^-8 in bfloat16, 2^-11 in float16, summed up over two blocks.
constexpr double kBfloat16 = 2e-2;
constexpr double kFloat16 = 4e-3;

constexpr DeviceTraits cuda(int major, int minor) {
  return {.is_cuda = true, .major = major, .minor = minor};
}

Precision chosen(Precision asked, const DeviceTraits& traits) {
  return choose_precision(asked, traits).precision;
}

at::Tensor random_ids(int64_t rows) {
  return at::randint(test::kSmallVocabulary, {rows, 16}, at::kLong);
}

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  for (const auto& tensor : tensors) out.push_back(tensor.detach().clone());
  return out;
}

}  // namespace

TEST_CASE("auto is what each device is fast in", "[precision]") {
  CHECK(chosen(Precision::automatic, cuda(7, 5)) == Precision::fp16);  // 2080 Ti
  CHECK(chosen(Precision::automatic, cuda(7, 0)) == Precision::fp16);
  CHECK(chosen(Precision::automatic, cuda(6, 1)) == Precision::fp32);
  CHECK(chosen(Precision::automatic, cuda(8, 0)) == Precision::bf16);
  CHECK(chosen(Precision::automatic, cuda(8, 6)) == Precision::bf16);
  CHECK(chosen(Precision::automatic, cuda(12, 0)) == Precision::bf16);
  CHECK(chosen(Precision::automatic, {.has_cpu_bf16 = true}) == Precision::bf16);
  CHECK(chosen(Precision::automatic, {.has_cpu_bf16 = false}) == Precision::fp32);
  CHECK(choose_precision(Precision::automatic, cuda(7, 5)).reason == "compute capability 7.5");
}

TEST_CASE("what is asked for is what is taken, except bf16 on CUDA below 8.0", "[precision]") {
  for (const auto asked : {Precision::fp32, Precision::fp16}) {
    for (const auto& traits :
         {cuda(6, 1), cuda(7, 5), cuda(9, 0), DeviceTraits{}, DeviceTraits{.has_cpu_bf16 = true}}) {
      CHECK(chosen(asked, traits) == asked);
    }
  }
  CHECK_THROWS_AS(choose_precision(Precision::bf16, cuda(7, 5)), UserError);
  CHECK_THROWS_WITH(choose_precision(Precision::bf16, cuda(7, 5)),
                    Catch::Contains("7.5") && Catch::Contains("fp16 or auto"));
  CHECK_THROWS_WITH(choose_precision(Precision::bf16, cuda(6, 1)), Catch::Contains("fp32 or auto"));
  CHECK_FALSE(choose_precision(Precision::bf16, cuda(8, 0)).is_slow);
  CHECK(choose_precision(Precision::bf16, DeviceTraits{}).is_slow);
  CHECK_FALSE(choose_precision(Precision::bf16, {.has_cpu_bf16 = true}).is_slow);
  CHECK(choose_precision(Precision::fp16, DeviceTraits{}).is_slow);
  CHECK(choose_precision(Precision::fp16, cuda(6, 1)).is_slow);
}

TEST_CASE("autocast ends as it began, and forgets the weights that it cast", "[precision][autocast]") {
  const auto weight = at::ones({2, 2}).requires_grad_();
  const auto x = at::ones({1, 2});
  const auto product = [&](Precision precision) {
    const Autocast autocast(at::kCPU, precision);
    return at::linear(x, weight).detach();
  };
  CHECK(product(Precision::bf16).scalar_type() == at::kBFloat16);
  {
    const c10::NoGradGuard no_grad;
    weight.mul_(3);
  }
  CHECK(product(Precision::bf16)[0][0].item<double>() == 6);
  CHECK(product(Precision::fp16).scalar_type() == at::kHalf);
  CHECK(product(Precision::fp32).scalar_type() == at::kFloat);
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  const Autocast outer(at::kCPU, Precision::fp16);
  CHECK(product(Precision::bf16).scalar_type() == at::kBFloat16);
  CHECK(at::autocast::get_autocast_dtype(at::kCPU) == at::kHalf);
}

TEST_CASE("norms, gains, running means and the plain softmax are float32 under autocast", "[precision][autocast]") {
  const auto precision = GENERATE(Precision::fp16, Precision::bf16);
  const auto dtype = precision == Precision::fp16 ? at::kHalf : at::kBFloat16;
  const Autocast autocast(at::kCPU, precision);
  // 200 * sqrt(256) is in range, its square is not.
  const auto large = at::full({1, 256}, 200, dtype);
  for (const auto kind : {NormKind::rms_norm, NormKind::layer_norm}) {
    const auto y = make_norm(kind, 256, 1e-5)->forward(large);
    CHECK(y.scalar_type() == at::kFloat);
    CHECK(y[0][0].item<double>() == Approx(kind == NormKind::rms_norm ? 1 : 0).margin(1e-6));
  }
  GainConfig one{.init = 1, .trainable = false}, half{.init = 0.5, .trainable = true};
  CHECK(Gain(one)->forward(large).scalar_type() == at::kFloat);
  CHECK(Gain(half)->forward(large).scalar_type() == at::kFloat);
  // Means of 600 rows: half precision counts no further than 256 (bf16) and rounds the sums of 600 values of 200.
  ShapedAttentionConfig config;
  config.alpha.resolve(0, false);
  config.beta.resolve(1, true);
  config.gamma.resolve(1, true);
  const auto v = at::full({1, 1, 600, 4}, 200, dtype);
  for (const double soft_cap : {0.0, 30.0}) {
    ShapedAttention attention(config, 1, soft_cap);
    const auto out = attention->forward(at::randn_like(v), at::randn_like(v), v, AttentionMask());
    // One operation of bfloat16 sums in float32 and rounds its result once.
    CHECK(out.scalar_type() == (soft_cap > 0 || precision == Precision::bf16 ? dtype : at::kFloat));
    // A and C are both means of the same value; the product that makes A's is rounded to half precision.
    CHECK(out.abs().max().item<double>() <= 200 * (precision == Precision::fp16 ? 2e-3 : 1e-2));
  }
}

TEST_CASE("in half precision every block's residual stream, loss and gradients are float32 and near those of fp32",
          "[precision]") {
  const auto precision = GENERATE(Precision::fp16, Precision::bf16);
  const double tolerance = precision == Precision::fp16 ? kFloat16 : kBfloat16;
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    const auto config = test::small_run_config({fmt::format("model.block={}", variant.name), "train.clip_norm=0"});
    Learner exact(config, at::kCPU), half(config, at::kCPU, precision);
    const auto ids = random_ids(8);
    {
      const Autocast autocast(at::kCPU, precision);
      for (const auto& state : half.model().hidden_states({.ids = ids})) CHECK(state.scalar_type() == at::kFloat);
    }
    const auto a = exact.step(0, 0, {.ids = ids}), b = half.step(0, 0, {.ids = ids});
    CHECK(b.loss.sum.scalar_type() == at::kFloat);
    CHECK(b.loss.sum.item<double>() == Approx(a.loss.sum.item<double>()).epsilon(tolerance));
    CHECK(b.gradient_norm.item<double>() == Approx(a.gradient_norm.item<double>()).epsilon(tolerance));
    // The test can fail: something did run in half precision.
    CHECK(b.gradient_norm.item<double>() != a.gradient_norm.item<double>());
    double difference = 0, size = 0;
    const auto expected = gradients_of(exact.model().parameters()), found = gradients_of(half.model().parameters());
    REQUIRE(expected.size() == found.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(found[i].scalar_type() == at::kFloat);
      difference += (found[i] - expected[i]).square().sum().item<double>();
      size += expected[i].square().sum().item<double>();
    }
    CHECK(std::sqrt(difference / size) < 2 * tolerance);
  }
}

TEST_CASE("a scaled loss is unscaled before it is clipped: the update is that of fp32, bit for bit",
          "[precision][clip]") {
  // V04: scale 65,536, a true norm of 0.5, clipping at 1.
  const auto parameter = at::full({2}, 1.0).requires_grad_();
  const auto gradient = at::full({2}, 0.5 / std::sqrt(2.0));
  const auto train_once = [&](const at::Tensor& factor) {
    const std::vector<at::Tensor> parameters{parameter};
    const auto loss = accumulate_gradients(
        parameters, 1, [&](int64_t) { return TokenLoss{.sum = (parameter * gradient).sum(), .count = at::ones({})}; },
        factor);
    auto scale = loss.count.reciprocal();
    if (factor.defined()) scale = scale / factor;
    return scale_and_clip(gradients_of(parameters), scale, 1).item<double>();
  };
  CHECK(train_once({}) == Approx(0.5).epsilon(1e-6));
  const auto plain = parameter.grad().clone();
  CHECK(train_once(at::full({}, 65'536.0)) == Approx(0.5).epsilon(1e-6));
  CHECK(parameter.grad().equal(plain));
  CHECK(parameter.grad().equal(gradient));
}

TEST_CASE("an fp16 step whose gradient is not finite is skipped and halves the scale; the next one is taken",
          "[precision][scaler]") {
  Learner learner(test::small_run_config(), at::kCPU, Precision::fp16);
  const auto ids = random_ids(8);
  learner.step(0, 1e-3, {.ids = ids});
  CHECK(learner.scaler()->skipped() == 0);
  auto state = learner.scaler()->state();
  state.at("loss_scale.scale").fill_(1e9);  // gradients of a few thousandths leave the range
  const auto before = copies(learner.model().parameters());
  std::map<std::string, at::Tensor> moments;
  for (const auto& [name, tensor] : learner.optimizer().state()) moments.emplace(name, tensor.clone());
  const auto skipped = learner.step(1, 1e-3, {.ids = ids});
  CHECK_FALSE(std::isfinite(skipped.gradient_norm.item<double>()));
  CHECK(std::isfinite(skipped.loss.sum.item<double>()));
  CHECK(skipped.loss.count.item<int64_t>() == 8 * 15);
  CHECK(learner.scaler()->scale().item<double>() == 5e8);
  CHECK(learner.scaler()->skipped() == 1);
  const auto after = learner.model().parameters();
  for (size_t i = 0; i < after.size(); ++i) CHECK(after[i].equal(before[i]));
  for (const auto& [name, tensor] : learner.optimizer().state()) CHECK(tensor.equal(moments.at(name)));
  CHECK(learner.failed_step() == -1);
  state.at("loss_scale.scale").fill_(1024);
  learner.step(2, 1e-3, {.ids = ids});
  CHECK(learner.scaler()->skipped() == 1);
  CHECK_FALSE(learner.model().parameters()[0].equal(before[0]));
}

TEST_CASE("an infinite weight in fp16 collapses the scale after 17 skipped steps, and is named",
          "[precision][scaler]") {
  Learner learner(test::small_run_config(), at::kCPU, Precision::fp16);
  const auto ids = random_ids(8);
  learner.step(0, 1e-3, {.ids = ids});
  std::string name = "block_1.feed_forward.w_1";
  double value = INFINITY;
  std::string found = "parameter block_1.feed_forward.w_1";
  SECTION("infinite itself") {}
  SECTION("finite, but not in float16") {
    value = 1e30;
    found = "the output of block_1 or final_norm";
  }
  {
    const c10::NoGradGuard no_grad;
    learner.model().named_parameters()[name][3][2] = value;
  }
  for (int64_t step = 1; step <= 16; ++step) {
    const auto skipped = learner.step(step, 1e-3, {.ids = ids});
    // A loss that is not finite is not counted.
    CHECK(skipped.loss.sum.item<double>() == 0);
    CHECK(skipped.loss.count.item<int64_t>() == 0);
  }
  CHECK(learner.scaler()->scale().item<double>() == 1);
  CHECK(learner.failed_step() == -1);
  learner.step(17, 1e-3, {.ids = ids});
  CHECK(learner.failed_step() == 17);
  CHECK(learner.scaler()->skipped() == 17);
  CHECK(learner.first_non_finite({.ids = ids}) == found);
}

}  // namespace skipless
