// The CUDA kernels' sources on a CPU (host_calls.h), alone and under their autograd functions, against the formulas in
// float64. What is left for a GPU itself: that its threads share the work rightly.
#include <ATen/autocast_mode.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/function.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/fused_activation.h"
#include "models/fused_combine.h"
#include "models/fused_gains.h"
#include "models/fused_norm.h"
#include "models/kernel_rows.h"
#include "models/kernels/device/values.h"
#include "models/norm.h"
#include "models/shaped_attention.h"
#include "models/token_loss.h"
#include "tests/models/host_calls.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kHalf, at::kBFloat16};

/// What sums of some hundred float32 terms of order 1 lose.
constexpr double kFloat32 = 4e-6;
/// The smallest float16 apart from 0: what lies between is rounded by half of it.
constexpr double kSmallestHalf = 6e-8;

/// Half a unit of the last place.
double rounding_of(at::ScalarType type) {
  return type == at::kHalf ? 1.0 / 2048 : type == at::kBFloat16 ? 1.0 / 256 : 0;
}

/// `values` in a type; the memory begins one value behind a boundary where `shifted`, so that no pack fits.
at::Tensor leaf(const at::Tensor& values, at::ScalarType type, bool shifted = false) {
  if (!shifted) return values.to(type).detach().requires_grad_();
  const auto memory = at::empty({values.numel() + 1}, type);
  return memory.slice(0, 1).view(values.sizes()).copy_(values).detach().requires_grad_();
}

at::Tensor exact(const at::Tensor& x) {
  return x.defined() ? x.detach().to(at::kDouble).requires_grad_() : x;
}

/// Rounded once to its type from values that float32 sums brought about.
bool is_close(const at::Tensor& ours, const at::Tensor& value, double factor = 1) {
  if (ours.sizes() != value.sizes()) return false;
  if (value.numel() == 0) return true;
  const double size = std::max(1.0, value.abs().max().item<double>());
  const auto bound = value.abs() * rounding_of(ours.scalar_type()) + kSmallestHalf + factor * kFloat32 * size;
  return at::le((ours.detach().to(at::kDouble) - value.detach()).abs(), bound).all().item<bool>();
}

void run_backward(const at::Tensor& y, const at::Tensor& weights) {
  (y * weights.to(y.scalar_type())).sum().backward();
}

/// [B, H, T, dh] as the heads of [B, T, H * dh].
at::Tensor as_heads(const at::Tensor& x) {
  return x.transpose(1, 2).contiguous().transpose(1, 2);
}

}  // namespace

TEST_CASE("Values are read four at a time where each tensor's begin on a multiple of their size", "[device]") {
  alignas(16) float x[8] = {};
  alignas(16) c10::Half y[8] = {};
  CHECK(kernels::are_packed(x, x + 4, y, y + 4, static_cast<float*>(nullptr)));
  CHECK_FALSE(kernels::are_packed(x + 1));
  CHECK_FALSE(kernels::are_packed(x, x + 2));
  CHECK_FALSE(kernels::are_packed(x, y + 2));
}

TEST_CASE("On a device the norms equal their formulas", "[device][norm]") {
  const WithHostCalls host;
  torch::manual_seed(41);
  for (const auto type : kTypes) {
    for (const auto& [rows, width, shifted] :
         {std::tuple{70, 33, false}, {130, 64, false}, {5, 64, true}, {3, 1, false}, {0, 8, false}}) {
      for (const bool is_layer_norm : {false, true}) {
        for (const auto result : {at::kFloat, type}) {
          INFO(type << " to " << result << ", " << rows << " x " << width << ", layer norm " << is_layer_norm);
          const auto x = leaf(at::randn({rows, width}) * 2 + 0.5, type, shifted);
          const auto scale = leaf(at::randn({width}), at::kFloat);
          const auto shift = is_layer_norm ? leaf(at::randn({width}), at::kFloat) : at::Tensor();
          const auto weights = at::randn({rows, width}).to(result);
          const auto y = fused_norm({.eps = 1e-2, .is_layer_norm = is_layer_norm, .result = result}, x, scale, shift);
          run_backward(y, weights);

          const auto x_e = exact(x), scale_e = exact(scale), shift_e = exact(shift);
          const auto centred = is_layer_norm ? x_e - x_e.mean(-1, true) : x_e;
          const auto square = centred.square().mean(-1, true);
          const auto y_e = is_layer_norm ? scale_e * centred / (square + 1e-2).sqrt() + shift_e
                                         : scale_e * centred / (square.sqrt() + 1e-2);
          run_backward(y_e, weights);
          CHECK(y.scalar_type() == result);
          CHECK(is_close(y, y_e));
          CHECK(is_close(x.grad(), x_e.grad()));
          CHECK(is_close(scale.grad(), scale_e.grad()));
          if (is_layer_norm) CHECK(is_close(shift.grad(), shift_e.grad()));
        }
      }
    }
  }
}

TEST_CASE("On a device a row of zeros has no gradient through its norm", "[device][norm]") {
  const WithHostCalls host;
  const auto x = leaf(at::full({2, 8}, 0.0), at::kFloat), scale = leaf(at::full({8}, 1.0), at::kFloat);
  fused_norm({.eps = 1e-2, .is_layer_norm = false, .result = at::kFloat}, x, scale, {}).sum().backward();
  CHECK(x.grad().equal(at::full({2, 8}, 1 / 1e-2F)));
}

TEST_CASE("On a device norms give autocast's type to matrix products", "[device][norm]") {
  const WithHostCalls host;
  RmsNormImpl rms(8, 1e-5);
  LayerNormImpl layer(8, 1e-5);
  const auto x = at::randn({3, 8});
  const auto previous = at::autocast::get_autocast_dtype(at::kCPU);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    at::autocast::set_autocast_dtype(at::kCPU, type);
    CHECK(rms.operand(x).scalar_type() == type);
    CHECK(layer.operand(x).scalar_type() == type);
    CHECK(rms.forward(x).scalar_type() == at::kFloat);
    CHECK(layer.forward(x).scalar_type() == at::kFloat);
  }
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::set_autocast_dtype(at::kCPU, previous);
  CHECK(rms.operand(x).scalar_type() == at::kFloat);
}

TEST_CASE("On a device the loss equals LibTorch's cross-entropy", "[device][token loss]") {
  torch::manual_seed(42);
  for (const auto type : kTypes) {
    for (const auto& [vocabulary, columns] : {std::pair{61, 64}, {64, 64}, {61, 63}, {1, 1}}) {
      INFO(type << ", vocabulary " << vocabulary << " of " << columns);
      const int64_t rows = 40;
      const auto logits = (at::randn({rows, columns}) * 5).to(type);
      auto targets = at::randint(vocabulary, {rows}, at::kLong);
      targets[5] = kIgnoredTarget;
      const auto leaf_e = exact(logits);
      const auto losses_e =
          at::cross_entropy_loss(leaf_e.slice(1, 0, vocabulary), targets, {}, at::Reduction::None, kIgnoredTarget);
      losses_e.sum().backward();
      for (const bool wants_gradient : {false, true}) {
        const auto used = logits.clone();
        auto losses = at::empty({rows}, at::kFloat);
        kernels::host::cross_entropy({vocabulary, columns, wants_gradient}, rows, kernel_rows(used),
                                     targets.const_data_ptr<int64_t>(), 4.0F, losses.mutable_data_ptr<float>(),
                                     nullptr);
        CHECK(is_close(losses, losses_e));
        CHECK((wants_gradient ? is_close(used, 4 * leaf_e.grad()) : used.equal(logits)));
      }
    }
  }
}

TEST_CASE("On a device the loss knows logits of -inf and targets beyond the vocabulary", "[device][token loss]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto logits = at::full({3, 4}, 0.5F);
  logits[0][0] = -kInfinity;
  logits[2][3] = std::numeric_limits<float>::quiet_NaN();
  const auto targets = at::full({3}, 2, at::kLong);
  targets[1] = 4;
  std::vector<float> losses(3);
  kernels::host::cross_entropy({4, 4, true}, 3, kernel_rows(logits), targets.const_data_ptr<int64_t>(), 1,
                               losses.data(), nullptr);
  CHECK(losses[0] == Approx(std::log(3.0)).epsilon(1e-6));
  CHECK(logits[0][0].item<float>() == 0);
  CHECK(std::isnan(losses[1]));
  CHECK(std::isnan(losses[2]));
}

TEST_CASE("On a device the token loss and its gradients are those of the formula, in every precision",
          "[device][token loss]") {
  const WithHostCalls host;
  torch::manual_seed(43);
  const auto previous = at::autocast::get_autocast_dtype(at::kCPU);
  for (const auto type : kTypes) {
    for (const bool with_bias : {false, true}) {
      INFO(type << ", bias " << with_bias);
      const auto hidden = leaf(at::randn({300, 16}), at::kFloat), matrix = leaf(at::randn({40, 16}) * 0.3, at::kFloat);
      const auto bias = with_bias ? leaf(at::randn({40}), at::kFloat) : at::Tensor();
      auto targets = at::randint(37, {300}, at::kLong);
      targets.slice(0, 5, 300, 3).fill_(kIgnoredTarget);
      at::autocast::set_autocast_dtype(at::kCPU, type);
      at::autocast::set_autocast_enabled(at::kCPU, type != at::kFloat);
      const auto sum = token_loss(hidden, matrix, 37, targets, bias).sum;
      at::autocast::set_autocast_enabled(at::kCPU, false);
      sum.backward();

      const auto hidden_e = exact(hidden), matrix_e = exact(matrix), bias_e = exact(bias);
      const auto logits_e = at::linear(hidden_e, matrix_e, bias_e).slice(1, 0, 37);
      const auto sum_e = at::cross_entropy_loss(logits_e, targets, {}, at::Reduction::Sum, kIgnoredTarget);
      sum_e.backward();
      // The products' operands are rounded, the logits too, and a probability's error is its logit's.
      const double tolerance = 8 * rounding_of(type) + kFloat32;
      const auto error = [](const at::Tensor& ours, const at::Tensor& value) {
        return (ours.to(at::kDouble) - value).abs().max().item<double>() / value.abs().max().item<double>();
      };
      CHECK(error(sum, sum_e) <= tolerance);
      CHECK(error(hidden.grad(), hidden_e.grad()) <= tolerance);
      CHECK(error(matrix.grad(), matrix_e.grad()) <= tolerance);
      if (with_bias) CHECK(error(bias.grad(), bias_e.grad()) <= tolerance);
    }
  }
  at::autocast::set_autocast_dtype(at::kCPU, previous);
}

TEST_CASE("On a device a gained sum equals its formula", "[device][gains]") {
  const WithHostCalls host;
  torch::manual_seed(44);
  for (const auto x_type : kTypes) {
    for (const auto y_type : kTypes) {
      if (x_type != y_type && x_type != at::kFloat && y_type != at::kFloat) continue;
      for (const auto& [width, shifted] : {std::pair{100, false}, {33, false}, {64, true}}) {
        for (const bool with_x : {true, false}) {
          INFO(x_type << ", " << y_type << ", width " << width << ", x " << with_x);
          const auto a = with_x ? leaf(at::randn({1}), at::kFloat) : at::Tensor();
          const auto x = with_x ? leaf(at::randn({2, 40, width}), x_type, shifted) : at::Tensor();
          const auto b = leaf(at::randn({1}), at::kFloat), y = leaf(at::randn({2, 40, width}), y_type);
          const auto weights = at::randn({2, 40, width});
          const auto out = fused_gained_sum(a, x, b, y);
          run_backward(out, weights);
          const auto a_e = exact(a), x_e = exact(x), b_e = exact(b), y_e = exact(y);
          const auto out_e = with_x ? a_e * x_e + b_e * y_e : b_e * y_e;
          run_backward(out_e, weights);
          CHECK(out.scalar_type() == at::kFloat);
          CHECK(is_close(out, out_e));
          CHECK(is_close(y.grad(), y_e.grad()));
          // A sum of everything.
          const double terms = std::sqrt(static_cast<double>(weights.numel()));
          CHECK(is_close(b.grad(), b_e.grad(), terms));
          if (!with_x) continue;
          CHECK(is_close(x.grad(), x_e.grad()));
          CHECK(is_close(a.grad(), a_e.grad(), terms));
        }
      }
    }
  }
}

TEST_CASE("float16 and bfloat16 never meet in one kernel", "[device][gains]") {
  const WithHostCalls host;
  const auto gain = at::full({1}, 1.0);
  const auto x = at::randn({2, 8}).to(at::kHalf), y = at::randn({2, 8}).to(at::kBFloat16);
  CHECK_THROWS_AS(fused_gained_sum(gain, x, gain, y), std::invalid_argument);
}

namespace {

enum class Centre { causal, all, kept, all_of_padded, none };

/// mean_C(V), [B, H, T, dh] or what expands to it.
at::Tensor mean_of(Centre centre, const at::Tensor& v, const at::Tensor& kept) {
  switch (centre) {
    case Centre::causal:
      return v.cumsum(2) / at::arange(1, v.size(2) + 1, v.options().requires_grad(false)).unsqueeze(1);
    case Centre::kept: {
      const auto weights = kept.to(v.scalar_type()).unsqueeze(1).unsqueeze(-1);  // [B, 1, T, 1]
      return (weights * v).sum(2, true) / weights.sum(2, true).clamp_min(1);
    }
    case Centre::none:
      return at::full({}, 0.0, v.options().requires_grad(false));
    default:
      return v.mean(2, true);
  }
}

}  // namespace

TEST_CASE("On a device the combine equals alpha*V + beta*O - gamma*mean(V)", "[device][combine]") {
  const WithHostCalls host;
  torch::manual_seed(45);
  const int64_t b = 3, h = 2, d = 5;
  for (const auto v_type : kTypes) {
    for (const auto o_type : {at::kFloat, v_type}) {
      for (const int64_t t : {1, 37, 64, 130, 200}) {
        for (const auto centre : {Centre::causal, Centre::all, Centre::kept, Centre::all_of_padded, Centre::none}) {
          for (const bool per_head : {true, false}) {
            INFO(v_type << ", " << o_type << ", T " << t << ", centre " << static_cast<int>(centre) << ", per head "
                        << per_head);
            AttentionMask mask{.causal = centre == Centre::causal || centre == Centre::none};
            const auto lengths = at::full({b, 1}, t, at::kLong);
            lengths[1] = t / 2;
            lengths[2] = 0;
            if (centre == Centre::kept || centre == Centre::all_of_padded) {
              mask.kept = at::arange(t).unsqueeze(0).lt(lengths);
              mask.centre_over_all = centre == Centre::all_of_padded;
            }
            const auto gain = [&](bool of_head) {
              return leaf(of_head ? at::randn({h, 1, 1}) : at::randn({1}), at::kFloat);
            };
            const auto alpha = gain(per_head), beta = gain(!per_head);
            const auto gamma = centre == Centre::none ? at::Tensor() : gain(per_head);
            // Memory as [B, T, H, dh] and as [B, H, T, dh].
            const auto v = as_heads(at::randn({b, h, t, d}).to(v_type)).detach().requires_grad_();
            const auto o = leaf(at::randn({b, h, t, d}), o_type);
            const auto weights = as_heads(at::randn({b, h, t, d}).to(v_type));
            const auto out = fused_combine(v, o, {alpha, beta, gamma}, mask);
            run_backward(out, weights);

            const auto v_e = exact(v), o_e = exact(o);
            const auto alpha_e = exact(alpha), beta_e = exact(beta), gamma_e = exact(gamma);
            const auto mean = mean_of(centre, v_e, mask.kept);
            const auto shaped = centre == Centre::none ? beta_e * o_e : beta_e * o_e - gamma_e * mean;
            const auto out_e = alpha_e * v_e + shaped;
            run_backward(out_e, weights);
            CHECK(out.scalar_type() == v_type);
            CHECK(out.transpose(1, 2).is_contiguous());
            CHECK(is_close(out, out_e));
            CHECK(is_close(v.grad(), v_e.grad()));
            CHECK(is_close(o.grad(), o_e.grad()));
            const double terms = std::sqrt(static_cast<double>(weights.numel()));
            CHECK(is_close(alpha.grad(), alpha_e.grad(), terms));
            CHECK(is_close(beta.grad(), beta_e.grad(), terms));
            if (gamma.defined()) CHECK(is_close(gamma.grad(), gamma_e.grad(), terms));
          }
        }
      }
    }
  }
}

TEST_CASE("On a device the combine takes no tokens, and values that do not lie side by side", "[device][combine]") {
  const WithHostCalls host;
  const auto one = at::full({1}, 1.0);
  const auto nothing = at::randn({2, 3, 0, 4});
  CHECK(fused_combine(nothing, nothing, {one, one, one}, {}).sizes() == nothing.sizes());
  const auto v = at::randn({2, 3, 4, 7}).transpose(2, 3), o = at::randn({2, 3, 7, 4});
  const auto mean = mean_of(Centre::causal, exact(v), {});
  CHECK(is_close(fused_combine(v, o, {one, one, one}, {}), exact(v) + exact(o) - mean));
}

TEST_CASE("On a device the combine is exactly V where O is its mean and beta is gamma", "[device][combine]") {
  const WithHostCalls host;
  const auto v = at::full({1, 1, 4, 1}, 0.0), o = at::full({1, 1, 4, 1}, 0.0);
  const float values[] = {1.5F, 1e-4F, 7.0F, -1e-3F};  // next to their means some would lose their last places
  float sum = 0;
  for (int64_t t = 0; t < 4; ++t) {
    v[0][0][t][0] = values[t];
    o[0][0][t][0] = (sum += values[t]) / static_cast<float>(t + 1);
  }
  const auto one = at::full({1}, 1.0), gain = at::full({1}, 1.1);
  CHECK(fused_combine(v, o, {one, gain, gain}, {}).equal(v));
}

TEST_CASE("On a device shaped attention equals the plain formula", "[device][combine]") {
  const WithHostCalls host;
  torch::manual_seed(46);
  ShapedAttentionConfig config;
  config.resolve_shaped();
  ShapedAttentionImpl attention(config, /*n_head=*/2, /*soft_cap=*/0);
  ShapedAttentionImpl exact_attention(config, 2, 0);
  exact_attention.to(at::kDouble);
  for (const bool causal : {true, false}) {
    AttentionMask mask{.causal = causal};
    if (!causal) mask.kept = at::arange(70).unsqueeze(0).lt(at::full({2, 1}, 50, at::kLong));
    // Not a type of a CPU's own fused attention.
    const auto q = leaf(at::randn({2, 2, 70, 8}), at::kHalf), k = leaf(at::randn({2, 2, 70, 8}), at::kHalf),
               v = leaf(at::randn({2, 2, 70, 8}), at::kHalf);
    const auto weights = at::randn({2, 2, 70, 8}).to(at::kHalf);
    attention.zero_grad();
    exact_attention.zero_grad();
    const auto out = attention.forward(q, k, v, mask);
    run_backward(out, weights);
    const auto q_e = exact(q), k_e = exact(k), v_e = exact(v);
    const auto out_e = exact_attention.plain(q_e, k_e, v_e, mask);
    run_backward(out_e, weights);
    CHECK(out.scalar_type() == at::kHalf);
    CHECK(is_close(out, out_e));
    // V's gradient is a sum of two that were rounded.
    CHECK((v.grad().to(at::kDouble) - v_e.grad()).abs().max().item<double>() <
          4 * rounding_of(at::kHalf) * v_e.grad().abs().max().item<double>());
    CHECK(is_close(q.grad(), q_e.grad()));
    const auto ours = attention.named_parameters(), theirs = exact_attention.named_parameters();
    for (const auto& parameter : ours) {
      INFO(parameter.key());
      CHECK(is_close(parameter.value().grad(), theirs[parameter.key()].grad(), std::sqrt(2240.0)));
    }
  }
}

TEST_CASE("On a device the activations equal LibTorch's", "[device][activation]") {
  torch::manual_seed(47);
  for (const auto& [activation, name] : enum_names(Activation())) {
    for (const auto type : kTypes) {
      for (const auto& [width, shifted] : {std::pair{40, false}, {34, false}, {40, true}}) {
        INFO(name << ", " << type << ", width " << width << ", shifted " << shifted);
        const auto x = leaf(at::randn({6, width}) * 2, type, shifted);
        const int64_t result_width = activation == Activation::geglu ? width / 2 : width;
        const auto weights = at::randn({6, result_width}).to(type);
        {
          const WithHostCalls host;
          const auto y = activate(activation, 0.2, x);
          run_backward(y, weights);
          const auto x_e = exact(x);
          const auto y_e = activate(activation, 0.2, x_e);
          run_backward(y_e, weights);
          CHECK(y.scalar_type() == type);
          CHECK(y.grad_fn()->name().find("FusedActivation") != std::string::npos);
          CHECK(is_close(y, y_e));
          CHECK(is_close(x.grad(), x_e.grad()));
        }
      }
    }
  }
}

TEST_CASE("On a device NaN passes through every activation", "[device][activation]") {
  const WithHostCalls host;
  for (const auto& [activation, name] : enum_names(Activation())) {
    INFO(name);
    const auto x = at::full({1, 2}, std::numeric_limits<float>::quiet_NaN());
    CHECK(activate(activation, 0.2, x).isnan().all().item<bool>());
  }
}

TEST_CASE("Device kernels are off unless asked for, and never a CPU's", "[device]") {
  CHECK_FALSE(device_kernels_in_use());
  if (!has_device_kernels()) CHECK_THROWS(use_device_kernels(true));
  if (has_device_kernels()) use_device_kernels(true);
  for (const auto type : kTypes) {
    const auto x = at::randn({2}).to(type);
    CHECK_FALSE(has_device_element(x));
    CHECK(has_kernel_element(x) == (type != at::kHalf));
  }
  use_device_kernels(false);
  const WithHostCalls host;
  CHECK(has_device_element(at::randn({2}).to(at::kHalf)));
  CHECK_FALSE(has_device_element(at::randn({2}, at::kDouble)));
}
