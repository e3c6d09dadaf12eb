// Accumulation and clipping: the gradient of one optimizer step.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/gpt.h"
#include "models/token_loss.h"
#include "tests/shared_folder.h"
#include "tests/train/small_run.h"
#include "train/accumulation.h"
#include "train/clip.h"
#include "train/learner.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

// float32 gradients summed in another order.
constexpr double kSummationOrder = 1e-5;
constexpr double kRate = 1e-3;

/// Labels [3, 64] of which the rows count `counts` targets; the first is never a target.
at::Tensor labels_with(const std::vector<int64_t>& counts, const at::Tensor& ids) {
  auto labels = at::full_like(ids, kIgnoredTarget);
  for (size_t row = 0; row < counts.size(); ++row) {
    const auto r = static_cast<int64_t>(row);
    labels[r].slice(0, 1, 1 + counts[row]).copy_(ids[r].slice(0, 1, 1 + counts[row]));
  }
  return labels;
}

double relative_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, (a[i] - b[i]).abs().max().item<double>());
    size = std::max(size, b[i].abs().max().item<double>());
  }
  return difference / size;
}

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  for (const auto& tensor : tensors) out.push_back(tensor.detach().clone());
  return out;
}

RunConfig learner_config(std::vector<std::string> overrides) {
  overrides.push_back("model.context_length=64");
  overrides.push_back("train.clip_norm=0");
  return test::small_run_config(overrides);
}

at::Tensor random_ids(int64_t rows) {
  return at::randint(test::kSmallVocabulary, {rows, 64}, at::kLong);
}

}  // namespace

TEST_CASE("micro-batches of 7, 50 and 3 tokens with mean losses 4, 1 and 6 have the step loss 1.6", "[accumulation]") {
  std::vector<double> tokens{7, 50, 3}, means{4, 1, 6};
  double right = 1.6;
  const auto file = test::shared_folder() / "cases/loss/EXPECTED.json";
  if (std::filesystem::exists(file)) {
    const auto expected = nlohmann::json::parse(std::ifstream(file));
    tokens = expected["micro_batches"]["valid_tokens"].get<std::vector<double>>();
    means = expected["micro_batches"]["mean_ce"].get<std::vector<double>>();
    right = expected["right_step_loss"];
  }
  const auto weight = at::full({}, 1.0, at::kDouble).requires_grad_();
  const auto total = accumulate_gradients({weight}, 3, [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    return TokenLoss{.sum = weight * (means[k] * tokens[k]),
                     .count = at::full({}, static_cast<int64_t>(tokens[k]), at::kLong)};
  });
  CHECK(total.sum.item<double>() / total.count.item<double>() == Approx(right).epsilon(1e-15));
  // d(step loss)/d(weight) is the step loss itself here.
  CHECK(weight.grad().item<double>() / total.count.item<double>() == Approx(right).epsilon(1e-15));
}

TEST_CASE("the gradient of uneven micro-batches is that of one batch of all their tokens", "[accumulation]") {
  const auto ids = random_ids(3);
  const auto labels = labels_with({7, 50, 3}, ids);
  Learner apart(learner_config({"train.batch_size=3", "train.micro_batch=1"}), at::kCPU);
  Learner together(learner_config({"train.batch_size=3", "train.micro_batch=3"}), at::kCPU);
  const auto a = apart.step(0, kRate, {.ids = ids, .labels = labels}),
             b = together.step(0, kRate, {.ids = ids, .labels = labels});
  CHECK(a.loss.count.item<int64_t>() == 60);
  CHECK(a.loss.sum.item<double>() == Approx(b.loss.sum.item<double>()).epsilon(kSummationOrder));
  CHECK(a.gradient_norm.item<double>() == Approx(b.gradient_norm.item<double>()).epsilon(kSummationOrder));
  CHECK(relative_difference(gradients_of(apart.model().parameters()), gradients_of(together.model().parameters())) <
        kSummationOrder);
}

TEST_CASE("the last window, smaller than the others, is neither dropped nor weighted wrongly", "[accumulation]") {
  const auto ids = random_ids(10);
  Learner in_fours(learner_config({"train.batch_size=10", "train.micro_batch=4"}), at::kCPU);  // 4 + 4 + 2
  Learner in_one(learner_config({"train.batch_size=10", "train.micro_batch=10"}), at::kCPU);
  const auto a = in_fours.step(0, kRate, {.ids = ids}), b = in_one.step(0, kRate, {.ids = ids});
  CHECK(a.loss.count.item<int64_t>() == 10 * 63);
  CHECK(a.loss.sum.item<double>() == Approx(b.loss.sum.item<double>()).epsilon(kSummationOrder));
  CHECK(relative_difference(gradients_of(in_fours.model().parameters()), gradients_of(in_one.model().parameters())) <
        kSummationOrder);
}

TEST_CASE("a micro-batch of 0 or larger than the batch is refused", "[accumulation][config]") {
  CHECK_THROWS_WITH(learner_config({"train.micro_batch=0"}), Catch::Contains("train.micro_batch"));
  CHECK_THROWS_WITH(learner_config({"train.micro_batch=9"}), Catch::Contains("train.micro_batch"));
}

TEST_CASE("a step without a counted token changes nothing and has loss 0", "[accumulation]") {
  const auto optimizer = GENERATE("adamw", "adamw_hf");
  Learner learner(learner_config({fmt::format("train.optimizer={}", optimizer)}), at::kCPU);
  const auto ids = random_ids(8);
  learner.step(0, kRate, {.ids = ids});
  const auto before = copies(learner.model().parameters());
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : learner.optimizer().state()) state.emplace(name, tensor.clone());
  const auto step = learner.step(1, kRate, {.ids = ids, .labels = at::full_like(ids, kIgnoredTarget)});
  CHECK(step.loss.sum.item<double>() == 0);
  CHECK(step.loss.count.item<int64_t>() == 0);
  CHECK(step.gradient_norm.item<double>() == 0);
  const auto after = learner.model().parameters();
  for (size_t i = 0; i < after.size(); ++i) CHECK(after[i].equal(before[i]));
  for (const auto& [name, tensor] : learner.optimizer().state()) CHECK(tensor.equal(state.at(name)));
  CHECK(learner.failed_step() == -1);
}

TEST_CASE("a step that is not finite changes nothing, and nothing after it does", "[accumulation]") {
  Learner learner(learner_config({}), at::kCPU);
  const auto ids = random_ids(8);
  learner.step(0, kRate, {.ids = ids});
  {
    const c10::NoGradGuard no_grad;
    learner.model().named_parameters()["block_1.feed_forward.w_1"][3][2] = std::nan("");
  }
  const auto before = copies(learner.model().parameters());
  learner.step(1, kRate, {.ids = ids});
  learner.step(2, kRate, {.ids = ids});
  CHECK(learner.failed_step() == 1);
  const auto after = learner.model().parameters();
  for (size_t i = 0; i < after.size(); ++i) CHECK(after[i].equal(before[i]) == !before[i].isnan().any().item<bool>());
}

TEST_CASE("steps with recomputation are those without, bit for bit, with dropout and feedback on", "[recompute]") {
  const auto after_three = [](bool recompute) {
    Learner learner(learner_config({fmt::format("train.recompute={}", recompute), "model.dropout.attention=0.1",
                                    "model.dropout.branch=0.2", "model.sas.beta_ff.feedback.power=0.5"}),
                    at::kCPU);
    for (int64_t step = 0; step < 3; ++step) {
      at::manual_seed(step);
      learner.step(step, kRate, {.ids = random_ids(8)});
    }
    auto tensors = learner.model().parameters();
    for (const auto& buffer : learner.model().buffers()) tensors.push_back(buffer);
    return copies(tensors);
  };
  const auto with = after_three(true), without = after_three(false);
  REQUIRE(with.size() == without.size());
  for (size_t i = 0; i < with.size(); ++i) CHECK(with[i].equal(without[i]));
}

TEST_CASE("a gain under feedback moves once a step, and not at a step that changes nothing", "[feedback]") {
  Learner learner(learner_config({"model.sas.beta_ff.feedback.power=0.5", "model.sas.beta_ff.feedback.target=0.9"}),
                  at::kCPU);
  const auto gain = [&] { return learner.model().named_buffers()["block_0.beta_ff.value"].item<double>(); };
  const auto ids = random_ids(8);
  const double start = gain();
  learner.step(0, kRate, {.ids = ids});
  const double moved = gain();
  CHECK(moved != start);
  learner.step(1, kRate, {.ids = ids, .labels = at::full_like(ids, kIgnoredTarget)});
  CHECK(gain() == moved);
  learner.step(2, kRate, {.ids = ids});
  CHECK(gain() != moved);
}

TEST_CASE("clipping scales all gradients to the largest norm, and leaves smaller ones alone", "[clip]") {
  const double scale = 0.5;
  for (const double max_norm : {0.0, 1.0, 100.0}) {
    INFO(max_norm);
    const std::vector<at::Tensor> gradients{at::randn({11, 3}, at::kDouble), at::randn({17}, at::kDouble) * 5};
    const auto original = copies(gradients);
    double sum = 0;
    for (const auto& g : original) sum += (g * g).sum().item<double>();
    const double norm = scale * std::sqrt(sum);
    CHECK(scale_and_clip(gradients, at::full({}, scale, at::kDouble), max_norm).item<double>() ==
          Approx(norm).epsilon(1e-14));
    const double factor = scale * (max_norm > 0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1);
    for (size_t i = 0; i < gradients.size(); ++i) {
      CHECK((gradients[i] - original[i] * factor).abs().max().item<double>() < 1e-14);
    }
    if (max_norm == 100) CHECK(factor == scale);
    if (max_norm == 1) CHECK(factor < scale);
  }
}

TEST_CASE("the norm of 40 million values is right to four digits", "[clip]") {
  // One running float32 sum over all of them is off by a percent; rows of 2,000 are not.
  constexpr double kFourDigits = 5e-5;
  const std::vector<at::Tensor> gradients{at::full({20'000, 2'000}, 0.01, at::kFloat)};
  const double norm = scale_and_clip(gradients, at::full({}, 1.0, at::kFloat), 0).item<double>();
  CHECK(norm == Approx(0.01 * std::sqrt(4e7)).epsilon(kFourDigits));
}

}  // namespace skipless
