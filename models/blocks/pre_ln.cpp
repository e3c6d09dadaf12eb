#include "models/blocks/pre_ln.h"

namespace skipless {

void PreLnBlockImpl::Config::keys(Schema& s) {
  attention.keys(s);
  s.section("alpha_sa", alpha_sa, "gain of the attention skip");
  s.section("beta_sa", beta_sa, "gain of the attention branch");
  s.section("alpha_ff", alpha_ff, "gain of the feed-forward skip");
  s.section("beta_ff", beta_ff, "gain of the feed-forward branch");
}

void PreLnBlockImpl::Config::resolve(const TransformerConfig&) {
  attention.shape.resolve_ordinary();
  attention.resolve(/*gains_trainable=*/false);
  for (auto* gain : {&alpha_sa, &alpha_ff}) gain->resolve(1, false);
  for (auto* gain : {&beta_sa, &beta_ff}) gain->resolve(1, false);
}

Block PreLnBlockImpl::Config::build(const TransformerConfig& config, int64_t layer) const {
  return std::make_shared<PreLnBlockImpl>(*this, config, layer);
}

int64_t PreLnBlockImpl::Config::n_parameters(const TransformerConfig& config, int64_t layer) const {
  return n_first_norm_parameters(config, layer) + attention.n_parameters(config, layer) +
         n_block_norm_parameters(config) + FeedForwardImpl::n_parameters(config) +
         n_trained({&alpha_sa, &beta_sa, &alpha_ff, &beta_ff});
}

PreLnBlockImpl::PreLnBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer) {
  norm_1_ = register_module("norm_1", make_first_norm(transformer, layer));
  attention_ = register_module("attention", Attention(config.attention, transformer, layer));
  norm_2_ = register_module("norm_2", make_block_norm(transformer));
  feed_forward_ = register_module("feed_forward", FeedForward(transformer));
  alpha_sa_ = register_module("alpha_sa", Gain(config.alpha_sa));
  beta_sa_ = register_module("beta_sa", BranchGain(config.beta_sa));
  alpha_ff_ = register_module("alpha_ff", Gain(config.alpha_ff));
  beta_ff_ = register_module("beta_ff", BranchGain(config.beta_ff));
}

torch::Tensor PreLnBlockImpl::forward(const torch::Tensor& x, const AttentionMask& mask) {
  const auto u = gained_sum(alpha_sa_, x, beta_sa_, attention_->forward(norm_1_->operand(x), mask), mask);
  return gained_sum(alpha_ff_, u, beta_ff_, feed_forward_->forward(norm_2_->operand(u)), mask);
}

}  // namespace skipless
