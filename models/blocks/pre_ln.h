// Pre-LN (He & Hofmann, Fig. 1 left): the standard block that the others are compared with.
#pragma once

#include "models/block.h"
#include "models/feed_forward.h"

namespace skipless {

/// u = alpha_sa*x + beta_sa*MHA(n1(x));  y = alpha_ff*u + beta_ff*MLP(n2(u)).  All gains 1 and fixed by default.
class PreLnBlockImpl : public BlockImpl {
 public:
  struct Config : CloneableBlockConfig<Config> {
    AttentionConfig attention;
    GainConfig alpha_sa, alpha_ff;
    BranchGainConfig beta_sa, beta_ff;

    void keys(Schema& s) override;
    void resolve(const TransformerConfig& config) override;
    void check(Problems& problems) const override { check_block(problems, attention, beta_sa, beta_ff); }
    const AttentionConfig& attention_config() const override { return attention; }
    Block build(const TransformerConfig& config, int64_t layer) const override;
    int64_t n_parameters(const TransformerConfig& config, int64_t layer) const override;
  };

  PreLnBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer);
  torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask) override;
  Attention attention() const override { return attention_; }

 private:
  Norm norm_1_, norm_2_;
  Attention attention_{nullptr};
  FeedForward feed_forward_{nullptr};
  Gain alpha_sa_{nullptr}, alpha_ff_{nullptr};
  BranchGain beta_sa_{nullptr}, beta_ff_{nullptr};
};

}  // namespace skipless
