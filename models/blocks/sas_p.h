// SAS-P, the parallel SAS block (He & Hofmann, Section 4.3, Fig. 1 right): no skip at all, V = P = I, one norm.
#pragma once

#include "models/block.h"
#include "models/feed_forward.h"

namespace skipless {

/// n = n1(x);  y = beta_ff*MLP(n) + beta_sa * concat_h(P_h n_h),  P_h = alpha_h*I + beta_h*A_h - gamma_h*C.
/// Values, gains and start as in SAS (sas.h).
class SasPBlockImpl : public BlockImpl {
 public:
  struct Config : CloneableBlockConfig<Config> {
    AttentionConfig attention{
        .value = {.kind = ProjectionKind::identity},
        .first_layer_value = {.kind = ProjectionKind::gained, .init = {.kind = WeightInit::identity}},
        .projection = {.kind = ProjectionKind::identity},
    };
    BranchGainConfig beta_sa, beta_ff;

    void keys(Schema& s) override;
    void resolve(const TransformerConfig& config) override;
    void check(Problems& problems) const override { check_block(problems, attention, beta_sa, beta_ff); }
    const AttentionConfig& attention_config() const override { return attention; }
    Block build(const TransformerConfig& config, int64_t layer) const override;
    int64_t n_parameters(const TransformerConfig& config, int64_t layer) const override;
  };

  SasPBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer);
  torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask) override;
  Attention attention() const override { return attention_; }

 private:
  Norm norm_;
  Attention attention_{nullptr};
  FeedForward feed_forward_{nullptr};
  BranchGain beta_sa_{nullptr}, beta_ff_{nullptr};
};

}  // namespace skipless
