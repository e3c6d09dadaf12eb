// The loss in chunks against the plain one: values, gradients, lower precision, memory.
#include "models/kernels/targets.h"
// Behind it:
#include <hwy/targets.h>

#include "models/token_loss.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "tests/models/peak_memory.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;

namespace {

// Sums of float64 terms of order 1 in another order; relative to the largest sum.
constexpr double kRounding = 1e-12;

/// All the logits at once, then LibTorch's cross-entropy.
at::Tensor plain_loss(const at::Tensor& hidden, const at::Tensor& matrix, int64_t vocab_size, const at::Tensor& targets,
                      const at::Tensor& of_logits = {}) {
  auto bias = at::full({matrix.size(0)}, 0.0, matrix.options().requires_grad(false));
  bias.slice(0, vocab_size).fill_(-std::numeric_limits<double>::infinity());
  const auto sum = of_logits.defined() ? bias + of_logits : bias;
  return at::cross_entropy_loss(at::linear(hidden, matrix, sum), targets, /*weight=*/{}, at::Reduction::Sum,
                                kIgnoredTarget);
}

at::Tensor leaf(at::IntArrayRef sizes, double scale, at::ScalarType dtype) {
  return at::randn(sizes, dtype).mul_(scale).requires_grad_();
}

struct Case {
  at::Tensor hidden, matrix, targets;
  int64_t vocab_size;
};

/// `n` positions over several chunks: with these vocabularies a chunk has 256 rows.
Case random_case(int64_t n, int64_t vocab_size, int64_t n_embedding, int64_t d = 6,
                 at::ScalarType dtype = at::kDouble) {
  torch::manual_seed(11);
  Case c{.hidden = leaf({n, d}, 1, dtype),
         .matrix = leaf({n_embedding, d}, 0.3, dtype),
         .targets = at::randint(vocab_size, {n}, at::kLong),
         .vocab_size = vocab_size};
  c.targets.slice(0, 5, n, 3).fill_(kIgnoredTarget);
  return c;
}

std::vector<at::Tensor> gradients(const Case& c, const at::Tensor& loss, double scale) {
  for (const auto& tensor : {c.hidden, c.matrix}) tensor.mutable_grad().reset();
  (loss * scale).backward();
  return {c.hidden.grad(), c.matrix.grad()};
}

double largest(const at::Tensor& x) {
  return x.abs().max().item<double>();
}

}  // namespace

TEST_CASE("The loss in chunks equals the plain loss in value and gradients", "[token loss]") {
  struct Sizes {
    int64_t n, vocab_size, n_embedding;
  };
  // One chunk; one and a bit of another; a padded vocabulary; a single row.
  for (const auto& [n, vocab_size, n_embedding] :
       {Sizes{40, 17, 17}, Sizes{300, 17'000, 17'000}, Sizes{300, 16'990, 17'024}, Sizes{1, 17, 24}}) {
    const double scale = n == 40 ? 1 : 65'536;
    INFO("n " << n << ", vocabulary " << vocab_size << " of " << n_embedding << ", scale " << scale);
    const auto c = random_case(n, vocab_size, n_embedding);
    const auto loss = token_loss(c.hidden, c.matrix, c.vocab_size, c.targets);
    const auto ours = gradients(c, loss.sum, scale);
    const auto plain = plain_loss(c.hidden, c.matrix, c.vocab_size, c.targets);
    const auto expected = gradients(c, plain, scale);
    CHECK(loss.sum.item<double>() == Approx(plain.item<double>()).epsilon(kRounding));
    CHECK(loss.count.item<int64_t>() == c.targets.ne(kIgnoredTarget).sum().item<int64_t>());
    for (size_t i = 0; i < ours.size(); ++i) CHECK(largest(ours[i] - expected[i]) <= kRounding * scale);
    CHECK(largest(expected[1]) > 0.1);
  }
  CHECK(loss_chunk_rows(300, 17'000) == 256);
}

TEST_CASE("With a bias of the logits the loss in chunks equals the plain loss in value and gradients", "[token loss]") {
  for (const int64_t padding : {0, 24}) {
    const auto c = random_case(300, 17'000, 17'000 + padding);
    const auto bias = leaf({17'000 + padding}, 2, at::kDouble);
    const auto loss = token_loss(c.hidden, c.matrix, c.vocab_size, c.targets, bias);
    const auto ours = gradients(c, loss.sum, 3);
    const auto of_bias = bias.grad().clone();
    bias.mutable_grad().reset();
    const auto plain = plain_loss(c.hidden, c.matrix, c.vocab_size, c.targets, bias);
    const auto expected = gradients(c, plain, 3);
    CHECK(loss.sum.item<double>() == Approx(plain.item<double>()).epsilon(kRounding));
    for (size_t i = 0; i < ours.size(); ++i) CHECK(largest(ours[i] - expected[i]) <= kRounding);
    CHECK(largest(of_bias - bias.grad()) <= kRounding);
    CHECK(largest(of_bias) > 0.1);
    // The bias alone is trained; and without a gradient the value is the same.
    const auto alone = leaf({17'000 + padding}, 0, at::kDouble);
    const at::Tensor h = c.hidden.detach(), w = c.matrix.detach();
    {
      const c10::NoGradGuard no_grad;
      alone.copy_(bias);
      CHECK(token_loss(h, w, c.vocab_size, c.targets, bias).sum.equal(loss.sum));
    }
    (3 * token_loss(h, w, c.vocab_size, c.targets, alone).sum).backward();
    CHECK(largest(of_bias - alone.grad()) <= kRounding);
  }
}

TEST_CASE("A position that is ignored has no gradient, and with none counted all are zero", "[token loss]") {
  auto c = random_case(100, 17, 24);
  const auto some = gradients(c, token_loss(c.hidden, c.matrix, c.vocab_size, c.targets).sum, 1);
  CHECK(largest(some[0][5]) == 0);
  CHECK(largest(some[0][6]) > 0);
  CHECK(largest(some[1].slice(0, 17)) == 0);
  c.targets.fill_(kIgnoredTarget);
  const auto loss = token_loss(c.hidden, c.matrix, c.vocab_size, c.targets);
  const auto none = gradients(c, loss.sum, 1);
  CHECK(loss.sum.item<double>() == 0);
  CHECK(loss.count.item<int64_t>() == 0);
  for (const auto& gradient : none) CHECK(largest(gradient) == 0);
}

TEST_CASE("Without a wanted gradient the loss is the same and has no graph", "[token loss]") {
  const auto c = random_case(300, 16'990, 17'024);
  const auto with = token_loss(c.hidden, c.matrix, c.vocab_size, c.targets);
  const c10::NoGradGuard no_grad;
  const auto without = token_loss(c.hidden, c.matrix, c.vocab_size, c.targets);
  CHECK(without.sum.equal(with.sum));
  CHECK_FALSE(without.sum.requires_grad());
}

TEST_CASE("A frozen output matrix gets no gradient, and the hidden states still do", "[token loss]") {
  auto c = random_case(50, 17, 17);
  const auto expected = gradients(c, plain_loss(c.hidden, c.matrix, 17, c.targets), 1);
  c.matrix = c.matrix.detach();
  c.hidden.mutable_grad().reset();
  token_loss(c.hidden, c.matrix, 17, c.targets).sum.backward();
  CHECK(largest(c.hidden.grad() - expected[0]) < kRounding);
  CHECK_FALSE(c.matrix.grad().defined());
}

TEST_CASE("A second backward through one loss is refused", "[token loss]") {
  const auto c = random_case(10, 17, 17);
  const auto loss = token_loss(c.hidden, c.matrix, 17, c.targets).sum;
  loss.backward({}, /*retain_graph=*/true);
  CHECK_THROWS_WITH(loss.backward(), Catch::Contains("backward ran before"));
}

TEST_CASE("A target outside the vocabulary is refused", "[token loss]") {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    auto c = random_case(10, 17, 17, 6, dtype);
    for (const int64_t wrong : {int64_t{17}, int64_t{-1}}) {
      c.targets[0] = wrong;
      CHECK_THROWS(token_loss(c.hidden, c.matrix, 17, c.targets));
    }
  }
}

TEST_CASE("The fused loss of float32 equals the plain one of float64 in every instruction set", "[token loss][fused]") {
  constexpr double kFloat32 = 4e-6;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    // Vocabularies of whole vectors and not, padded and not; two chunks.
    for (const auto& [vocab_size, n_embedding] :
         {std::pair<int64_t, int64_t>{17, 17}, {64, 64}, {1, 1}, {61, 80}, {16'990, 17'024}}) {
      INFO(hwy::TargetName(target) << ", vocabulary " << vocab_size << " of " << n_embedding);
      const auto c = random_case(vocab_size > 100 ? 300 : 40, vocab_size, n_embedding, 6, at::kFloat);
      const auto bias = leaf({n_embedding}, 2, at::kFloat);
      const auto loss = token_loss(c.hidden, c.matrix, c.vocab_size, c.targets, bias);
      const auto ours = gradients(c, loss.sum, 1);
      const Case exact{.hidden = c.hidden.detach().to(at::kDouble).requires_grad_(),
                       .matrix = c.matrix.detach().to(at::kDouble).requires_grad_(),
                       .targets = c.targets,
                       .vocab_size = vocab_size};
      const auto exact_bias = bias.detach().to(at::kDouble).requires_grad_();
      const auto plain = plain_loss(exact.hidden, exact.matrix, vocab_size, c.targets, exact_bias);
      const auto expected = gradients(exact, plain, 1);
      CHECK(loss.sum.item<double>() == Approx(plain.item<double>()).epsilon(kFloat32).margin(kFloat32));
      for (size_t i = 0; i < ours.size(); ++i) CHECK(largest(ours[i] - expected[i]) <= 8 * kFloat32);
      CHECK(largest(bias.grad() - exact_bias.grad()) <= 8 * kFloat32);
      CHECK(loss.count.item<int64_t>() == c.targets.ne(kIgnoredTarget).sum().item<int64_t>());
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("What is not finite shows in the fused loss, unless its row is ignored", "[token loss][fused]") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto c = random_case(40, 17, 17, 6, at::kFloat);
    {
      const c10::NoGradGuard no_grad;
      c.hidden[5].fill_(bad);  // ignored
    }
    const auto finite = token_loss(c.hidden, c.matrix, 17, c.targets).sum;
    for (const auto& gradient : gradients(c, finite, 1)) CHECK(gradient.isfinite().all().item<bool>());
    CHECK(finite.isfinite().item<bool>());
    const c10::NoGradGuard no_grad;
    c.hidden[6].fill_(bad);
    CHECK_FALSE(token_loss(c.hidden, c.matrix, 17, c.targets).sum.isfinite().item<bool>());
  }
}

TEST_CASE("Under autocast products are in the lower precision, softmax, sums and gradients in float32",
          "[token loss][autocast]") {
  const auto c = random_case(100, 1000, 1000, 24, at::kFloat);
  const auto exact = gradients(c, plain_loss(c.hidden, c.matrix, 1000, c.targets), 1);
  const double exact_loss = plain_loss(c.hidden, c.matrix, 1000, c.targets).item<double>();
  // Unit roundoff of each: operands and, for bfloat16, products are rounded to it.
  for (const auto& [dtype, unit] : {std::pair{at::kBFloat16, 0x1p-8}, std::pair{at::kHalf, 0x1p-11}}) {
    INFO(dtype);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
    const auto loss = token_loss(c.hidden, c.matrix, 1000, c.targets).sum;
    at::autocast::set_autocast_enabled(at::kCPU, false);
    const auto ours = gradients(c, loss, 1);
    CHECK(loss.scalar_type() == at::kFloat);
    CHECK(loss.item<double>() == Approx(exact_loss).epsilon(4 * unit));
    CHECK(loss.item<double>() != exact_loss);
    for (size_t i = 0; i < ours.size(); ++i) {
      CHECK(ours[i].scalar_type() == at::kFloat);
      CHECK(((ours[i] - exact[i]).norm() / exact[i].norm()).item<double>() < 4 * unit);
    }
  }
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
}

TEST_CASE("float16 products keep the gradient of a loss over many unlikely tokens", "[token loss][autocast]") {
  // Probabilities of 1/50,000 = 2e-5 lie below float16's normal numbers, and their sums over rows above its largest.
  auto c = random_case(64, 50'000, 50'000, 4, at::kFloat);
  const c10::NoGradGuard no_grad;
  c.matrix.mul_(1e-3);
  c.hidden.fill_(40).add_(at::randn_like(c.hidden));
  c.targets.fill_(7);
  const at::AutoGradMode grad(true);
  const auto exact = gradients(c, plain_loss(c.hidden, c.matrix, 50'000, c.targets), 1);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  const auto loss = token_loss(c.hidden, c.matrix, 50'000, c.targets).sum;
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const auto ours = gradients(c, loss, 1);
  const auto others = ours[1].slice(0, 100), expected = exact[1].slice(0, 100);
  CHECK(((others - expected).norm() / expected.norm()).item<double>() < 4 * 0x1p-11);
  CHECK(ours[1].isfinite().all().item<bool>());
}

TEST_CASE("At 2,048 tokens and a vocabulary of 50,000 the loss takes a third of the plain memory at most",
          "[token loss][memory]") {
  const auto c = random_case(2048, 50'000, 50'000, 16, at::kFloat);
  const auto peak = [&](bool plain) {
    return test::peak_bytes([&] {
      const auto loss = plain ? plain_loss(c.hidden, c.matrix, 50'000, c.targets)
                              : token_loss(c.hidden, c.matrix, 50'000, c.targets).sum;
      gradients(c, loss, 1);
    });
  };
  const auto ours = static_cast<double>(peak(false)), plain = static_cast<double>(peak(true));
  INFO(ours / 1e6 << " MB against " << plain / 1e6 << " MB");
  CHECK(3 * ours < plain);
  // The test can fail: the plain path holds the logits at least twice.
  CHECK(plain > 2 * 4 * 2048 * 50'000.0);
}

TEST_CASE("Milliseconds of loss and gradients, plain and in chunks", "[.speed]") {
  struct Sizes {
    int64_t vocab_size, d;
  };
  for (const auto& [vocab_size, d] : {Sizes{4096, 128}, Sizes{50'000, 768}}) {
    const auto c = random_case(2048, vocab_size, vocab_size, d, at::kFloat);
    double best[2] = {1e9, 1e9};
    for (int repeat = 0; repeat < 5; ++repeat) {
      for (const bool plain : {false, true}) {
        const auto begin = std::chrono::steady_clock::now();
        gradients(c,
                  plain ? plain_loss(c.hidden, c.matrix, vocab_size, c.targets)
                        : token_loss(c.hidden, c.matrix, vocab_size, c.targets).sum,
                  1);
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
        best[plain] = std::min(best[plain], elapsed.count());
      }
    }
    WARN("2048 tokens, vocabulary " << vocab_size << ", width " << d << ": plain " << best[1] << " ms, in chunks "
                                    << best[0] << " ms");
  }
}
