#include "models/shaped_attention.h"

#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tanh.h>

#include <cmath>
#include <limits>
#include <optional>

namespace skipless {

void ShapedAttentionConfig::keys(Schema& s) {
  s.section("alpha", alpha, "gain of I in the attention matrix");
  s.section("beta", beta, "gain of A = softmax(QK^T/sqrt(dh)) in the attention matrix");
  s.section("gamma", gamma, "gain of the centring matrix C in the attention matrix");
}

void ShapedAttentionConfig::resolve_ordinary() {
  alpha.resolve(0, false);
  beta.resolve(1, false);
  gamma.resolve(0, false);
}

void ShapedAttentionConfig::resolve_shaped() {
  alpha.resolve(1, true);
  beta.resolve(1, true);
  gamma.resolve(1, true);
}

int64_t ShapedAttentionConfig::n_parameters(int64_t n_head) const {
  int64_t sum = 0;
  for (const auto* gain : {&alpha, &beta, &gamma}) {
    if (*gain->trainable) sum += gain->per_head ? n_head : 1;
  }
  return sum;
}

namespace {

Gain make_gain(const HeadGainConfig& config, int64_t n_head) {
  return Gain(config, config.per_head ? n_head : 0);
}

/// [T, 1]: 1, 2, .., T: how many positions a causal row sees.
torch::Tensor causal_counts(int64_t t, const torch::TensorOptions& options) {
  return at::arange(1, t + 1, options).unsqueeze(-1);
}

/// mean_C(V) of a causal model: row i is the mean of rows 0..i.
torch::Tensor running_mean(const torch::Tensor& v) {
  return at::cumsum(v, -2) / causal_counts(v.size(-2), v.options());
}

/// mean_C(V) without a causal mask: every row is the mean over all positions.
torch::Tensor uniform_mean(const torch::Tensor& v) {
  return v.mean(-2, /*keepdim=*/true);
}

torch::Tensor centring_matrix(int64_t t, bool causal, const torch::TensorOptions& options) {
  const auto ones = at::ones({t, t}, options);
  return causal ? ones.tril() / causal_counts(t, options) : ones / static_cast<double>(t);
}

/// [T, T] or [B, 1, T, T] bool: true where a query may see a key.
torch::Tensor visible(int64_t t, const AttentionMask& mask, const torch::Device& device) {
  auto seen = at::ones({t, t}, torch::TensorOptions(torch::kBool).device(device));
  if (mask.causal) seen = seen.tril();
  if (mask.kept.defined()) seen = seen.logical_and(mask.kept.unsqueeze(1).unsqueeze(1));
  return seen;
}

torch::Tensor softmax_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                const AttentionMask& mask) {
  if (!mask.kept.defined()) {
    return at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, mask.causal);
  }
  return at::scaled_dot_product_attention(q, k, v, visible(q.size(-2), mask, q.device()));
}

}  // namespace

ShapedAttentionImpl::ShapedAttentionImpl(const ShapedAttentionConfig& config, int64_t n_head, double soft_cap)
    : soft_cap_(soft_cap) {
  alpha_ = register_module("alpha", make_gain(config.alpha, n_head));
  beta_ = register_module("beta", make_gain(config.beta, n_head));
  gamma_ = register_module("gamma", make_gain(config.gamma, n_head));
}

torch::Tensor ShapedAttentionImpl::forward(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                           const AttentionMask& mask) {
  if (soft_cap_ > 0) return plain(q, k, v, mask);
  auto out = beta_->forward(softmax_attention(q, k, v, mask));
  if (!gamma_->is_zero()) out = out - gamma_->forward(mask.causal ? running_mean(v) : uniform_mean(v));
  if (!alpha_->is_zero()) out = out + alpha_->forward(v);
  return out;
}

torch::Tensor ShapedAttentionImpl::matrix(const torch::Tensor& q, const torch::Tensor& k, const AttentionMask& mask) {
  const int64_t t = q.size(-2);
  auto s = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(-1)));
  if (soft_cap_ > 0) s = soft_cap_ * at::tanh(s / soft_cap_);
  s = s.masked_fill(visible(t, mask, q.device()).logical_not(), -std::numeric_limits<double>::infinity());
  auto p = beta_->forward(at::_safe_softmax(s, -1));
  if (!gamma_->is_zero()) p = p - gamma_->forward(centring_matrix(t, mask.causal, q.options()));
  if (!alpha_->is_zero()) p = p + alpha_->forward(at::eye(t, q.options()));
  return p;
}

torch::Tensor ShapedAttentionImpl::plain(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                         const AttentionMask& mask) {
  return at::matmul(matrix(q, k, mask), v);
}

}  // namespace skipless
