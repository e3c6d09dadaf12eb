#include "models/block.h"

#include <cmath>

#include "models/fused_gains.h"
#include "models/kernel_rows.h"

namespace skipless {

namespace {

NormKind first_norm_kind(const TransformerConfig& config, int64_t layer) {
  return config.norm == NormKind::none && layer == 0 ? NormKind::layer_norm : config.norm;
}

/// a*x + b*y as one operation; undefined where it is not one for these. Without a gain that is neither 0 nor 1 there is
/// nothing to fuse: the gradient of a plain sum is passed on as it is.
torch::Tensor fused_sum(const GainImpl& a, const torch::Tensor& x, const GainImpl& b, const torch::Tensor& y) {
  const bool plain_sum = (a.is_one() || a.is_zero()) && b.is_one() && x.scalar_type() == y.scalar_type();
  const bool can_fuse = !plain_sum && !a.is_measured() && !b.is_measured() && has_fused_form(x) && has_fused_form(y) &&
                        b.value().scalar_type() == at::kFloat;
  if (!can_fuse) return {};
  return fused_gained_sum(a.value(), a.is_zero() ? torch::Tensor() : x, b.value(), y);
}

}  // namespace

Norm make_first_norm(const TransformerConfig& config, int64_t layer) {
  return make_norm(first_norm_kind(config, layer), config.d_model, config.norm_eps);
}

Norm make_block_norm(const TransformerConfig& config) {
  return make_norm(config.norm, config.d_model, config.norm_eps);
}

int64_t n_first_norm_parameters(const TransformerConfig& config, int64_t layer) {
  return n_norm_parameters(first_norm_kind(config, layer), config.d_model);
}

int64_t n_block_norm_parameters(const TransformerConfig& config) {
  return n_norm_parameters(config.norm, config.d_model);
}

double skipless_beta_ff(const TransformerConfig& config) {
  return 0.1 * std::sqrt(18.0 / static_cast<double>(config.n_layer));
}

torch::Tensor gained_sum(const Gain& alpha, const torch::Tensor& x, BranchGain& beta, const torch::Tensor& branch,
                         const AttentionMask& mask) {
  if (auto sum = fused_sum(*alpha, x, *beta, branch); sum.defined()) return sum;
  const auto gained = beta->forward(branch, mask);
  return alpha->is_zero() ? gained : alpha->forward(x) + gained;
}

torch::Tensor branch_sum(BranchGain& a, const torch::Tensor& x, BranchGain& b, const torch::Tensor& y,
                         const AttentionMask& mask) {
  if (auto sum = fused_sum(*a, x, *b, y); sum.defined()) return sum;
  const auto gained = b->forward(y, mask);
  return a->is_zero() ? gained : a->forward(x, mask) + gained;
}

void check_block(Problems& problems, const AttentionConfig& attention, const BranchGainConfig& beta_sa,
                 const BranchGainConfig& beta_ff) {
  attention.check(problems);
  beta_sa.check(problems, "beta_sa");
  beta_ff.check(problems, "beta_ff");
}

int64_t n_trained(std::initializer_list<const GainConfig*> gains) {
  int64_t sum = 0;
  for (const auto* gain : gains) sum += *gain->trainable ? 1 : 0;
  return sum;
}

}  // namespace skipless
