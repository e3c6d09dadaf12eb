#include "models/shaped_attention.h"

#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tanh.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>
#include <limits>
#include <optional>

#include "models/attention_cache.h"
#include "models/dropout.h"
#include "models/full_precision.h"
#include "models/fused_attention.h"
#include "models/fused_combine.h"

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

/// [T, 1]: S + 1, S + 2, .., S + T: how many positions a causal row sees, where S tokens came before.
torch::Tensor causal_counts(int64_t before, int64_t t, const torch::TensorOptions& options) {
  return at::arange(before + 1, before + t + 1, options).unsqueeze(-1);
}

/// mean_C(V) of a causal model: row i is the mean of rows 0..i.
torch::Tensor running_mean(const torch::Tensor& v) {
  const auto sum = at::cumsum(full_precision(v), -2);
  return sum / causal_counts(0, v.size(-2), sum.options());
}

/// [B, 1, 1, T]: every row of C without a causal mask, where not all keys count.
torch::Tensor centring_row(const torch::Tensor& kept, const torch::TensorOptions& options) {
  const auto weights = kept.to(options.dtype()).unsqueeze(1).unsqueeze(1);
  return weights / weights.sum(-1, /*keepdim=*/true).clamp_min(1);
}

bool centres_over_all(const AttentionMask& mask) {
  return mask.centre_over_all || !mask.kept.defined();
}

/// mean_C(V) without a causal mask: every row is the mean over the positions that count.
torch::Tensor uniform_mean(const torch::Tensor& values, const AttentionMask& mask) {
  const auto v = full_precision(values);
  return centres_over_all(mask) ? v.mean(-2, /*keepdim=*/true) : at::matmul(centring_row(mask.kept, v.options()), v);
}

/// Rows of T queries, columns of all S + T keys; without a causal mask [B, 1, 1, T] where not all keys count.
torch::Tensor centring_matrix(int64_t queries, int64_t keys, const AttentionMask& mask,
                              const torch::TensorOptions& options) {
  if (!mask.causal && !centres_over_all(mask)) return centring_row(mask.kept, options);
  const auto ones = at::ones({queries, keys}, options);
  const int64_t before = keys - queries;
  return mask.causal ? ones.tril(before) / causal_counts(before, queries, options) : ones / static_cast<double>(keys);
}

/// [T, S + T], [B, 1, T, S + T] or, without a causal mask, [B, 1, 1, T] bool: true where a query may see a key.
torch::Tensor visible(int64_t queries, int64_t keys, const AttentionMask& mask, const torch::Device& device) {
  if (!mask.causal && mask.kept.defined()) return mask.kept.unsqueeze(1).unsqueeze(1);
  auto seen = at::ones({queries, keys}, torch::TensorOptions(torch::kBool).device(device));
  if (mask.causal) seen = seen.tril(keys - queries);
  if (mask.kept.defined()) seen = seen.logical_and(mask.kept.unsqueeze(1).unsqueeze(1));
  return seen;
}

torch::Tensor fused_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                              const AttentionMask& mask, double dropout) {
  const int64_t queries = q.size(-2), keys = k.size(-2);
  // A single query sees all keys there are; LibTorch's own causal mask is for as many queries as keys.
  const bool alone = queries == 1 && mask.causal;
  if (!mask.kept.defined() && (queries == keys || alone)) {
    return at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, dropout, mask.causal && !alone);
  }
  return at::scaled_dot_product_attention(q, k, v, visible(queries, keys, mask, q.device()), dropout);
}

torch::Tensor softmax_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                const AttentionMask& mask, double dropout) {
  if (!q.is_cpu()) return fused_attention(q, k, v, mask, dropout);
  // On a CPU LibTorch's fused attention is faster in float32 than in half precision, casts included.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return fused_attention(full_precision(q), full_precision(k), full_precision(v), mask, dropout);
}

/// lambda*I + (1 - lambda)*P, or the same of their products with V. Exactly the one at lambda 1, the other at 0.
torch::Tensor interpolated(const torch::Tensor& lambda, const torch::Tensor& of_identity, const torch::Tensor& of_p) {
  return lambda * of_identity + (1 - lambda) * of_p;
}

}  // namespace

ShapedAttentionImpl::ShapedAttentionImpl(const ShapedAttentionConfig& config, int64_t n_head, double soft_cap,
                                         double dropout, const IdentityStartConfig& identity_start)
    : soft_cap_(soft_cap), dropout_(dropout), identity_start_(identity_start) {
  alpha_ = register_module("alpha", make_gain(config.alpha, n_head));
  beta_ = register_module("beta", make_gain(config.beta, n_head));
  gamma_ = register_module("gamma", make_gain(config.gamma, n_head));
  if (identity_start.schedule != IdentitySchedule::off) {
    lambda_ = register_buffer("lambda", at::full({}, identity_start.lambda(0)));
  }
}

void ShapedAttentionImpl::begin_step(int64_t step) {
  if (lambda_.defined()) lambda_.fill_(identity_start_.lambda(step));
}

torch::Tensor ShapedAttentionImpl::forward(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                           const AttentionMask& mask) {
  auto* const cache = mask.cache;
  TORCH_CHECK(cache == nullptr || (mask.causal && !mask.kept.defined()), "a cache is for causal models, unpadded");
  if (cache != nullptr) cache->append(k, v);
  const auto all_k = cache != nullptr ? cache->keys() : k, all_v = cache != nullptr ? cache->values() : v;
  if (mask.observer != nullptr) (*mask.observer)(*this, q, all_k);
  if (soft_cap_ > 0) return plain(q, all_k, all_v, mask);
  const double p_dropout = is_training() ? dropout_ : 0;
  if (can_fuse(q, k, v, mask)) {
    const HeadGainTensors gains{alpha_->value(), beta_->value(), gamma_->value()};
    const auto fused = fused_attention(q, k, v, gains, mask, p_dropout);
    return lambda_.defined() ? interpolated(lambda_, v, fused) : fused;
  }
  const auto out = combined(v, softmax_attention(q, all_k, all_v, mask, p_dropout), mask);
  return lambda_.defined() ? interpolated(lambda_, v, out) : out;
}

torch::Tensor ShapedAttentionImpl::combined(const torch::Tensor& v, const torch::Tensor& o, const AttentionMask& mask) {
  const HeadGainTensors gains{alpha_->value(), beta_->value(), gamma_->is_zero() ? torch::Tensor() : gamma_->value()};
  const bool is_ordinary = alpha_->is_zero() && gamma_->is_zero();
  if (!is_ordinary && can_combine(v, o, gains, mask)) return fused_combine(v, o, gains, mask);
  auto out = beta_->forward(o);
  if (!gamma_->is_zero()) {
    const auto mean = mask.cache != nullptr ? mask.cache->running_mean(v)
                      : mask.causal         ? running_mean(v)
                                            : uniform_mean(v, mask);
    out = out - gamma_->forward(mean);
  }
  return alpha_->is_zero() ? out : out + alpha_->forward(v);
}

torch::Tensor ShapedAttentionImpl::softmax_matrix(const torch::Tensor& q, const torch::Tensor& k,
                                                  const AttentionMask& mask) const {
  auto s = full_precision(at::matmul(q, k.transpose(-1, -2))) / std::sqrt(static_cast<double>(q.size(-1)));
  if (soft_cap_ > 0) s = soft_cap_ * at::tanh(s / soft_cap_);
  const auto seen = visible(q.size(-2), k.size(-2), mask, q.device());
  return at::_safe_softmax(s.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity()), -1);
}

torch::Tensor ShapedAttentionImpl::matrix(const torch::Tensor& q, const torch::Tensor& k, const AttentionMask& mask,
                                          bool centred) {
  const int64_t queries = q.size(-2), keys = k.size(-2);
  const auto a = softmax_matrix(q, k, mask);
  auto p = beta_->forward(dropout(dropout_, is_training(), a));
  if (centred && !gamma_->is_zero()) p = p - gamma_->forward(centring_matrix(queries, keys, mask, a.options()));
  const auto identity = at::eye(keys, a.options()).slice(0, keys - queries);
  if (!alpha_->is_zero()) p = p + alpha_->forward(identity);
  return lambda_.defined() ? interpolated(lambda_, identity, p) : p;
}

torch::Tensor ShapedAttentionImpl::plain(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                         const AttentionMask& mask) {
  return at::matmul(matrix(q, k, mask), v);
}

}  // namespace skipless
