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

torch::Tensor gained_sum(const Gain& alpha, const torch::Tensor& x, const Gain& beta, const torch::Tensor& branch) {
  const auto gained = beta->forward(branch);
  return alpha->is_zero() ? gained : alpha->forward(x) + gained;
}

int64_t n_trained(std::initializer_list<const GainConfig*> gains) {
  int64_t sum = 0;
  for (const auto* gain : gains) sum += *gain->trainable ? 1 : 0;
  return sum;
}

}  // namespace skipless
