#include "models/blocks/sas_p.h"

namespace skipless {

void SasPBlockImpl::Config::keys(Schema& s) {
  attention.keys(s);
  s.section("beta_sa", beta_sa, "gain of the attention branch");
  s.section("beta_ff", beta_ff, "gain of the feed-forward branch");
}

void SasPBlockImpl::Config::resolve(const TransformerConfig& config) {
  attention.shape.resolve_shaped();
  attention.start_queries_at_zero();
  attention.resolve(/*gains_trainable=*/true);
  beta_sa.resolve(1, true);
  beta_ff.resolve(skipless_beta_ff(config), true);
}

Block SasPBlockImpl::Config::build(const TransformerConfig& config, int64_t layer) const {
  return std::make_shared<SasPBlockImpl>(*this, config, layer);
}

int64_t SasPBlockImpl::Config::n_parameters(const TransformerConfig& config, int64_t layer) const {
  return n_first_norm_parameters(config, layer) + attention.n_parameters(config, layer) +
         FeedForwardImpl::n_parameters(config) + n_trained({&beta_sa, &beta_ff});
}

SasPBlockImpl::SasPBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer) {
  norm_ = register_module("norm", make_first_norm(transformer, layer));
  attention_ = register_module("attention", Attention(config.attention, transformer, layer));
  feed_forward_ = register_module("feed_forward", FeedForward(transformer));
  beta_sa_ = register_module("beta_sa", BranchGain(config.beta_sa));
  beta_ff_ = register_module("beta_ff", BranchGain(config.beta_ff));
}

torch::Tensor SasPBlockImpl::forward(const torch::Tensor& x, const AttentionMask& mask) {
  const auto n = norm_->operand(x);
  return branch_sum(beta_ff_, feed_forward_->forward(n), beta_sa_, attention_->forward(n, mask), mask);
}

}  // namespace skipless
