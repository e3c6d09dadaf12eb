// SAS, the Simplified Attention Sub-block (He & Hofmann, Section 4.1 to 4.2, Fig. 1): no attention skip, V = P = I.
#pragma once

#include "models/block.h"
#include "models/feed_forward.h"

namespace skipless {

/// n = n1(x);  u = beta_sa * concat_h(P_h n_h);  y = alpha_ff*u + beta_ff*MLP(n2(u)),  P_h = alpha_h*I + beta_h*A_h -
/// gamma_h*C. The value of head h is columns h*dh.. of n, and there is no output projection; block 0 alone keeps a
/// trainable W_V = alpha*I + beta*W. All gains are trained. W_Q = 0 at the start, so that A = C and the sub-block
/// returns n. alpha_ff fixed at 0 is the sequential block without its feed-forward skip.
class SasBlockImpl : public BlockImpl {
 public:
  struct Config : CloneableBlockConfig<Config> {
    AttentionConfig attention{
        .value = {.kind = ProjectionKind::identity},
        .first_layer_value = {.kind = ProjectionKind::gained, .init = {.kind = WeightInit::identity}},
        .projection = {.kind = ProjectionKind::identity},
    };
    GainConfig alpha_ff;
    BranchGainConfig beta_sa, beta_ff;

    void keys(Schema& s) override;
    void resolve(const TransformerConfig& config) override;
    void check(Problems& problems) const override { check_block(problems, attention, beta_sa, beta_ff); }
    const AttentionConfig& attention_config() const override { return attention; }
    Block build(const TransformerConfig& config, int64_t layer) const override;
    int64_t n_parameters(const TransformerConfig& config, int64_t layer) const override;
  };

  SasBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer);
  torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask) override;
  Attention attention() const override { return attention_; }

 private:
  Norm norm_1_, norm_2_;
  Attention attention_{nullptr};
  FeedForward feed_forward_{nullptr};
  Gain alpha_ff_{nullptr};
  BranchGain beta_sa_{nullptr}, beta_ff_{nullptr};
};

}  // namespace skipless
