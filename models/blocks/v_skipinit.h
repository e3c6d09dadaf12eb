// V-SkipInit (He & Hofmann, Section 4.1, Eq. 4): no attention skip; the skip moves into the attention matrix.
#pragma once

#include "models/block.h"
#include "models/feed_forward.h"

namespace skipless {

/// u = beta_sa*MHA(n1(x));  y = alpha_ff*u + beta_ff*MLP(n2(u)), with ordinary W_V and W_P, orthogonal at the start.
/// form eq4: P = alpha*I + beta*A with alpha = 1, beta = 0 and no C (the paper's Eq. 4). form shaped, the default:
/// shaped attention with all three gains 1, as the authors' script runs this baseline (PAPER.md, section 5, item 6).
/// W_Q = 0 at the start.
class VSkipInitBlockImpl : public BlockImpl {
 public:
  struct Config : CloneableBlockConfig<Config> {
    enum class Form { eq4, shaped };

    Form form = Form::shaped;
    AttentionConfig attention{.value = {.init = {.kind = WeightInit::orthogonal}},
                              .projection = {.init = {.kind = WeightInit::orthogonal}}};
    GainConfig alpha_ff;
    BranchGainConfig beta_sa, beta_ff;

    void keys(Schema& s) override;
    void resolve(const TransformerConfig& config) override;
    void check(Problems& problems) const override { check_block(problems, attention, beta_sa, beta_ff); }
    const AttentionConfig& attention_config() const override { return attention; }
    Block build(const TransformerConfig& config, int64_t layer) const override;
    int64_t n_parameters(const TransformerConfig& config, int64_t layer) const override;
  };

  VSkipInitBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer);
  torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask) override;
  Attention attention() const override { return attention_; }

 private:
  Norm norm_1_, norm_2_;
  Attention attention_{nullptr};
  FeedForward feed_forward_{nullptr};
  Gain alpha_ff_{nullptr};
  BranchGain beta_sa_{nullptr}, beta_ff_{nullptr};
};

std::span<const EnumName<VSkipInitBlockImpl::Config::Form>> enum_names(VSkipInitBlockImpl::Config::Form);

}  // namespace skipless
