#include "models/blocks/v_skipinit.h"

#include <array>

namespace skipless {

std::span<const EnumName<VSkipInitBlockImpl::Config::Form>> enum_names(VSkipInitBlockImpl::Config::Form) {
  using Form = VSkipInitBlockImpl::Config::Form;
  static constexpr std::array<EnumName<Form>, 2> kNames{{{Form::eq4, "eq4"}, {Form::shaped, "shaped"}}};
  return kNames;
}

void VSkipInitBlockImpl::Config::keys(Schema& s) {
  s.key("form", form, "eq4: alpha*I + beta*A from 1, 0; shaped: alpha*I + beta*A - gamma*C from 1, 1, 1");
  attention.keys(s);
  s.section("beta_sa", beta_sa, "gain of the attention branch");
  s.section("alpha_ff", alpha_ff, "gain of the feed-forward skip");
  s.section("beta_ff", beta_ff, "gain of the feed-forward branch");
}

void VSkipInitBlockImpl::Config::resolve(const TransformerConfig& config) {
  if (form == Form::eq4) {
    attention.shape.beta.resolve(0, true);
    attention.shape.gamma.resolve(0, false);
  }
  attention.shape.resolve_shaped();
  attention.start_queries_at_zero();
  attention.resolve(/*gains_trainable=*/true);
  beta_sa.resolve(1, true);
  alpha_ff.resolve(1, true);
  beta_ff.resolve(skipless_beta_ff(config), true);
}

Block VSkipInitBlockImpl::Config::build(const TransformerConfig& config, int64_t layer) const {
  return std::make_shared<VSkipInitBlockImpl>(*this, config, layer);
}

int64_t VSkipInitBlockImpl::Config::n_parameters(const TransformerConfig& config, int64_t layer) const {
  return n_first_norm_parameters(config, layer) + attention.n_parameters(config, layer) +
         n_block_norm_parameters(config) + FeedForwardImpl::n_parameters(config) +
         n_trained({&beta_sa, &alpha_ff, &beta_ff});
}

VSkipInitBlockImpl::VSkipInitBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer) {
  norm_1_ = register_module("norm_1", make_first_norm(transformer, layer));
  attention_ = register_module("attention", Attention(config.attention, transformer, layer));
  norm_2_ = register_module("norm_2", make_block_norm(transformer));
  feed_forward_ = register_module("feed_forward", FeedForward(transformer));
  beta_sa_ = register_module("beta_sa", BranchGain(config.beta_sa));
  alpha_ff_ = register_module("alpha_ff", Gain(config.alpha_ff));
  beta_ff_ = register_module("beta_ff", BranchGain(config.beta_ff));
}

torch::Tensor VSkipInitBlockImpl::forward(const torch::Tensor& x, const AttentionMask& mask) {
  const auto u = beta_sa_->forward(attention_->forward(norm_1_->operand(x), mask), mask);
  return gained_sum(alpha_ff_, u, beta_ff_, feed_forward_->forward(norm_2_->operand(u)), mask);
}

}  // namespace skipless
