// The OP block (He et al. 2024, "Understanding and Minimising Outlier Features"; the authors' op.yaml): Pre-LN without
// its norms. Normalised queries and keys, and small branches, keep it stable.
#pragma once

#include "models/block.h"
#include "models/feed_forward.h"

namespace skipless {

/// u = alpha_sa*x + beta_sa*MHA(x);  y = alpha_ff*u + beta_ff*MLP(u).  alpha 1, beta 0.2, all fixed by default.
/// Always with qk-norm and without norms, whatever `norm` and `qk_norm` say; as in every model without norms, block 0
/// begins with a LayerNorm, which MHA alone reads.
class OpBlockImpl : public BlockImpl {
 public:
  struct Config : CloneableBlockConfig<Config> {
    AttentionConfig attention;
    GainConfig alpha_sa, alpha_ff;
    BranchGainConfig beta_sa, beta_ff;

    void keys(Schema& s) override;
    void resolve(const TransformerConfig& config) override;
    void check(Problems& problems) const override { check_block(problems, attention, beta_sa, beta_ff); }
    const AttentionConfig& attention_config() const override { return attention; }
    TransformerConfig settings(const TransformerConfig& shared) const override;
    Block build(const TransformerConfig& config, int64_t layer) const override;
    int64_t n_parameters(const TransformerConfig& config, int64_t layer) const override;
  };

  /// `transformer`: what settings() gives.
  OpBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer);
  torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask) override;
  Attention attention() const override { return attention_; }

 private:
  Norm norm_1_;  // none but in block 0
  Attention attention_{nullptr};
  FeedForward feed_forward_{nullptr};
  Gain alpha_sa_{nullptr}, alpha_ff_{nullptr};
  BranchGain beta_sa_{nullptr}, beta_ff_{nullptr};
};

}  // namespace skipless
