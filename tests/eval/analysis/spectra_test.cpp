// Eigenvalues of shaped attention: P = alpha*I + beta*A - gamma*C.
#include "eval/analysis/spectra.h"

#include <ATen/ops/randn.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "models/shaped_attention.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

using Complex = std::complex<double>;

constexpr int64_t kHeads = 2, kTokens = 24, kHeadSize = 5;

struct Gains {
  double alpha, beta, gamma;
};

constexpr Gains kGains{.alpha = 0.7, .beta = 1.3, .gamma = 0.4};

ShapedAttention attention_with(const Gains& gains) {
  ShapedAttentionConfig config;
  config.alpha.init = gains.alpha;
  config.beta.init = gains.beta;
  config.gamma.init = gains.gamma;
  config.resolve_shaped();
  ShapedAttention attention(config, kHeads, /*soft_cap=*/0);
  attention->to(at::kDouble);
  attention->eval();
  // Not float32's 0.7, 1.3 and 0.4.
  const torch::NoGradGuard no_grad;
  attention->named_parameters()["alpha.value"].fill_(gains.alpha);
  attention->named_parameters()["beta.value"].fill_(gains.beta);
  attention->named_parameters()["gamma.value"].fill_(gains.gamma);
  return attention;
}

/// [1, H, T, dh], large enough that A is far from C.
at::Tensor heads() {
  return 1.5 * at::randn({1, kHeads, kTokens, kHeadSize}, at::kDouble);
}

std::vector<Complex> list_of(const at::Tensor& values) {
  const auto flat = values.contiguous();
  const auto* first = flat.data_ptr<c10::complex<double>>();
  return {first, first + flat.numel()};
}

/// Pairs each wanted value with the nearest one that is left, and returns the largest distance.
double largest_distance(const std::vector<Complex>& wanted, std::vector<Complex> got) {
  REQUIRE(got.size() == wanted.size());
  double largest = 0;
  for (const auto& value : wanted) {
    const auto nearest = std::min_element(got.begin(), got.end(), [&](const auto& a, const auto& b) {
      return std::abs(a - value) < std::abs(b - value);
    });
    largest = std::max(largest, std::abs(*nearest - value));
    got.erase(nearest);
  }
  return largest;
}

}  // namespace

TEST_CASE("a causal matrix has the eigenvalues alpha + beta*A_ii - gamma/(i+1)", "[analysis]") {
  torch::manual_seed(2);
  const c10::NoGradGuard no_grad;
  auto attention = attention_with(kGains);
  const auto q = heads(), k = heads();
  const auto eigen = eigenvalues(attention->matrix(q, k, AttentionMask{}));
  for (int64_t head = 0; head < kHeads; ++head) {
    std::vector<Complex> wanted;
    for (int64_t i = 0; i < kTokens; ++i) {
      // A_ii written out.
      const auto weights = (q[0][head][i] * k[0][head].slice(0, 0, i + 1)).sum(-1).div(std::sqrt(kHeadSize)).exp();
      const double a = (weights[i] / weights.sum()).item<double>();
      wanted.push_back(kGains.alpha + kGains.beta * a - kGains.gamma / static_cast<double>(i + 1));
    }
    CHECK(largest_distance(wanted, list_of(eigen[0][head])) < 1e-12);
  }
}

TEST_CASE("in an encoder C moves one eigenvalue: alpha + beta - gamma, and alpha + beta*lambda_i of A", "[analysis]") {
  torch::manual_seed(3);
  const c10::NoGradGuard no_grad;
  auto attention = attention_with(kGains);
  const auto q = heads(), k = heads();
  const AttentionMask everything{.causal = false};
  const auto of_a = eigenvalues(attention->softmax_matrix(q, k, everything));
  const auto of_p = eigenvalues(attention->matrix(q, k, everything));
  const auto of_p_without_c = eigenvalues(attention->matrix(q, k, everything, /*centred=*/false));
  for (int64_t head = 0; head < kHeads; ++head) {
    auto wanted = list_of(of_a[0][head]);
    CHECK(std::abs(wanted.front() - 1.0) < 1e-12);  // of a matrix whose rows sum to 1 it is the largest
    for (auto& value : wanted) value = kGains.alpha + kGains.beta * value;
    CHECK(largest_distance(wanted, list_of(of_p_without_c[0][head])) < 1e-10);
    wanted.front() = kGains.alpha + kGains.beta - kGains.gamma;
    CHECK(largest_distance(wanted, list_of(of_p[0][head])) < 1e-10);
  }
}

TEST_CASE("eigenvalues come with the largest modulus first, complex ones too", "[analysis]") {
  torch::manual_seed(4);
  const auto moduli = eigenvalues(at::randn({3, 9, 9}, at::kDouble)).abs();
  CHECK((moduli.slice(-1, 0, 8) >= moduli.slice(-1, 1) - 1e-13).all().item<bool>());
  CHECK(moduli.std(-1).min().item<double>() > 0.1);
}

}  // namespace skipless
