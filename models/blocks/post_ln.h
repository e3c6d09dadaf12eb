// Post-LN in the authors' norm-first form: each sub-block normalises first, and its skip carries the normalised value.
#pragma once

#include "models/block.h"
#include "models/feed_forward.h"

namespace skipless {

/// x0 = n1(x);  u = alpha_sa*x0 + beta_sa*MHA(x0);  u0 = n2(u);  y = alpha_ff*u0 + beta_ff*MLP(u0).  Gains 1, fixed.
/// The norm of a block's output in the usual form is the next block's n1, or the final norm (PAPER.md, section 1).
/// BERT's norm of the embeddings is block 0's n1; or model.embedding_norm, before the embeddings' dropout as in Hugging
/// Face, and block 0 has no n1.
class PostLnBlockImpl : public BlockImpl {
 public:
  struct Config : CloneableBlockConfig<Config> {
    bool first_norm = true;  // whether block 0 has its n1
    AttentionConfig attention;
    GainConfig alpha_sa, alpha_ff;
    BranchGainConfig beta_sa, beta_ff;

    bool has_norm_1(int64_t layer) const { return layer > 0 || first_norm; }

    void keys(Schema& s) override;
    void resolve(const TransformerConfig& config) override;
    void check(Problems& problems) const override { check_block(problems, attention, beta_sa, beta_ff); }
    const AttentionConfig& attention_config() const override { return attention; }
    Block build(const TransformerConfig& config, int64_t layer) const override;
    int64_t n_parameters(const TransformerConfig& config, int64_t layer) const override;
  };

  PostLnBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer);
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
