#include "models/blocks/parallel.h"

namespace skipless {

void ParallelBlockImpl::Config::keys(Schema& s) {
  attention.keys(s);
  s.section("alpha_comb", alpha_comb, "gain of the one skip");
  s.section("beta_sa", beta_sa, "gain of the attention branch");
  s.section("beta_ff", beta_ff, "gain of the feed-forward branch");
}

void ParallelBlockImpl::Config::resolve(const TransformerConfig&) {
  attention.shape.resolve_ordinary();
  attention.resolve(/*gains_trainable=*/false);
  alpha_comb.resolve(1, false);
  for (auto* gain : {&beta_sa, &beta_ff}) gain->resolve(1, false);
}

Block ParallelBlockImpl::Config::build(const TransformerConfig& config, int64_t layer) const {
  return std::make_shared<ParallelBlockImpl>(*this, config, layer);
}

int64_t ParallelBlockImpl::Config::n_parameters(const TransformerConfig& config, int64_t layer) const {
  return n_first_norm_parameters(config, layer) + attention.n_parameters(config, layer) +
         FeedForwardImpl::n_parameters(config) + n_trained({&alpha_comb, &beta_sa, &beta_ff});
}

ParallelBlockImpl::ParallelBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer) {
  norm_ = register_module("norm", make_first_norm(transformer, layer));
  attention_ = register_module("attention", Attention(config.attention, transformer, layer));
  feed_forward_ = register_module("feed_forward", FeedForward(transformer));
  alpha_comb_ = register_module("alpha_comb", Gain(config.alpha_comb));
  beta_sa_ = register_module("beta_sa", BranchGain(config.beta_sa));
  beta_ff_ = register_module("beta_ff", BranchGain(config.beta_ff));
}

torch::Tensor ParallelBlockImpl::forward(const torch::Tensor& x, const AttentionMask& mask) {
  const auto n = norm_->operand(x);
  const auto branches = branch_sum(beta_ff_, feed_forward_->forward(n), beta_sa_, attention_->forward(n, mask), mask);
  return alpha_comb_->is_zero() ? branches : alpha_comb_->forward(x) + branches;
}

}  // namespace skipless
