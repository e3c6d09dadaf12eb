#include "models/block.h"

#include <cmath>

namespace skipless {

namespace {

NormKind first_norm_kind(const TransformerConfig& config, int64_t layer) {
  return config.norm == NormKind::none && layer == 0 ? NormKind::layer_norm : config.norm;
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
  const auto gained = beta->forward(branch, mask);
  return alpha->is_zero() ? gained : alpha->forward(x) + gained;
}

torch::Tensor branch_sum(BranchGain& a, const torch::Tensor& x, BranchGain& b, const torch::Tensor& y,
                         const AttentionMask& mask) {
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
