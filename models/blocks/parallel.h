// The parallel block (GPT-J; He & Hofmann, Fig. 1): both sub-blocks read one norm of the input.
#pragma once

#include "models/block.h"
#include "models/feed_forward.h"

namespace skipless {

/// n = n1(x);  y = alpha_comb*x + beta_ff*MLP(n) + beta_sa*MHA(n).  All gains 1 and fixed by default.
class ParallelBlockImpl : public BlockImpl {
 public:
  struct Config : CloneableBlockConfig<Config> {
    AttentionConfig attention;
    GainConfig alpha_comb;
    BranchGainConfig beta_sa, beta_ff;

    void keys(Schema& s) override;
    void resolve(const TransformerConfig& config) override;
    void check(Problems& problems) const override { check_block(problems, attention, beta_sa, beta_ff); }
    const AttentionConfig& attention_config() const override { return attention; }
    Block build(const TransformerConfig& config, int64_t layer) const override;
    int64_t n_parameters(const TransformerConfig& config, int64_t layer) const override;
  };

  ParallelBlockImpl(const Config& config, const TransformerConfig& transformer, int64_t layer);
  torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask) override;
  Attention attention() const override { return attention_; }

 private:
  Norm norm_;
  Attention attention_{nullptr};
  FeedForward feed_forward_{nullptr};
  Gain alpha_comb_{nullptr};
  BranchGain beta_sa_{nullptr}, beta_ff_{nullptr};
};

}  // namespace skipless
