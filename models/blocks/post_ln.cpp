#include "models/blocks/post_ln.h"

namespace skipless {

void PostLnBlockImpl::Config::keys(Schema& s) {
  s.key("first_norm", first_norm, "block 0 begins with a norm; false where embedding_norm does that");
  attention.keys(s);
  s.section("alpha_sa", alpha_sa, "gain of the attention skip");
  s.section("beta_sa", beta_sa, "gain of the attention branch");
  s.section("alpha_ff", alpha_ff, "gain of the feed-forward skip");
  s.section("beta_ff", beta_ff, "gain of the feed-forward branch");
}

void PostLnBlockImpl::Config::resolve(const TransformerConfig&) {
  attention.shape.resolve_ordinary();
  attention.resolve(/*gains_trainable=*/false);
  for (auto* gain : {&alpha_sa, &alpha_ff}) gain->resolve(1, false);
  for (auto* gain : {&beta_sa, &beta_ff}) gain->resolve(1, false);
}

Block PostLnBlockImpl::Config::build(const TransformerConfig& config, int64_t layer) const {
  return std::make_shared<PostLnBlockImpl>(*this, config, layer);
}

int64_t PostLnBlockImpl::Config::n_parameters(const TransformerConfig& config, int64_t layer) const {
  return (has_norm_1(layer) ? n_first_norm_parameters(config, layer) : 0) + attention.n_parameters(config, layer) +
         n_block_norm_parameters(config) + FeedForwardImpl::n_parameters(config) +
         n_trained({&alpha_sa, &beta_sa, &alpha_ff, &beta_ff});
}

PostLnBlockImpl::PostLnBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer) {
  norm_1_ = register_module("norm_1", config.has_norm_1(layer)
                                          ? make_first_norm(transformer, layer)
                                          : make_norm(NormKind::none, transformer.d_model, transformer.norm_eps));
  attention_ = register_module("attention", Attention(config.attention, transformer, layer));
  norm_2_ = register_module("norm_2", make_block_norm(transformer));
  feed_forward_ = register_module("feed_forward", FeedForward(transformer));
  alpha_sa_ = register_module("alpha_sa", Gain(config.alpha_sa));
  beta_sa_ = register_module("beta_sa", BranchGain(config.beta_sa));
  alpha_ff_ = register_module("alpha_ff", Gain(config.alpha_ff));
  beta_ff_ = register_module("beta_ff", BranchGain(config.beta_ff));
}

torch::Tensor PostLnBlockImpl::forward(const torch::Tensor& x, const AttentionMask& mask) {
  const auto x_0 = norm_1_->forward(x);
  const auto u = gained_sum(alpha_sa_, x_0, beta_sa_, attention_->forward(x_0, mask), mask);
  const auto u_0 = norm_2_->forward(u);
  return gained_sum(alpha_ff_, u_0, beta_ff_, feed_forward_->forward(u_0), mask);
}

}  // namespace skipless
