#include "models/blocks/op.h"

namespace skipless {

void OpBlockImpl::Config::keys(Schema& s) {
  attention.keys(s);
  s.section("alpha_sa", alpha_sa, "gain of the attention skip");
  s.section("beta_sa", beta_sa, "gain of the attention branch");
  s.section("alpha_ff", alpha_ff, "gain of the feed-forward skip");
  s.section("beta_ff", beta_ff, "gain of the feed-forward branch");
}

void OpBlockImpl::Config::resolve(const TransformerConfig&) {
  attention.shape.resolve_ordinary();
  attention.resolve(/*gains_trainable=*/false);
  for (auto* gain : {&alpha_sa, &alpha_ff}) gain->resolve(1, false);
  for (auto* gain : {&beta_sa, &beta_ff}) gain->resolve(0.2, false);
}

TransformerConfig OpBlockImpl::Config::settings(const TransformerConfig& shared) const {
  auto own = shared;
  own.norm = NormKind::none;
  own.qk_norm = true;
  return own;
}

Block OpBlockImpl::Config::build(const TransformerConfig& config, int64_t layer) const {
  return std::make_shared<OpBlockImpl>(*this, settings(config), layer);
}

int64_t OpBlockImpl::Config::n_parameters(const TransformerConfig& config, int64_t layer) const {
  const auto own = settings(config);
  return n_first_norm_parameters(own, layer) + attention.n_parameters(own, layer) + FeedForwardImpl::n_parameters(own) +
         n_trained({&alpha_sa, &beta_sa, &alpha_ff, &beta_ff});
}

OpBlockImpl::OpBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer) {
  norm_1_ = register_module("norm_1", make_first_norm(transformer, layer));
  attention_ = register_module("attention", Attention(config.attention, transformer, layer));
  feed_forward_ = register_module("feed_forward", FeedForward(transformer));
  alpha_sa_ = register_module("alpha_sa", Gain(config.alpha_sa));
  beta_sa_ = register_module("beta_sa", BranchGain(config.beta_sa));
  alpha_ff_ = register_module("alpha_ff", Gain(config.alpha_ff));
  beta_ff_ = register_module("beta_ff", BranchGain(config.beta_ff));
}

torch::Tensor OpBlockImpl::forward(const torch::Tensor& x, const AttentionMask& mask) {
  const auto u = gained_sum(alpha_sa_, x, beta_sa_, attention_->forward(norm_1_->operand(x), mask), mask);
  return gained_sum(alpha_ff_, u, beta_ff_, feed_forward_->forward(u), mask);
}

}  // namespace skipless
