// What every block variant is: a module with one forward, and a Config that lists its keys and builds it.
#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "models/attention.h"
#include "models/branch_gain.h"
#include "models/transformer_config.h"

namespace skipless {

/// x [B, T, D] -> [B, T, D]
class BlockImpl : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask) = 0;
  /// Its attention sub-block, for initialisations that span the stack.
  virtual Attention attention() const = 0;
};
using Block = std::shared_ptr<BlockImpl>;

/// The settings that are a variant's own, under `model.<name of the variant>`. Those that all variants share are in
/// TransformerConfig.
class BlockConfig {
 public:
  virtual ~BlockConfig() = default;
  virtual std::unique_ptr<BlockConfig> clone() const = 0;
  virtual void keys(Schema& s) = 0;
  /// Fills in what the user left empty. Call it once more only on an unresolved copy: it keeps what is set.
  virtual void resolve(const TransformerConfig& config) = 0;
  virtual void check(Problems& problems) const = 0;
  virtual const AttentionConfig& attention_config() const = 0;
  /// The shared settings as this variant takes them, where it decides some of them by itself.
  virtual TransformerConfig settings(const TransformerConfig& shared) const { return shared; }
  virtual Block build(const TransformerConfig& config, int64_t layer) const = 0;
  /// Trainable parameters of the block at `layer`, by formula.
  virtual int64_t n_parameters(const TransformerConfig& config, int64_t layer) const = 0;
};

/// The clone() of a concrete Config.
template <class Derived>
class CloneableBlockConfig : public BlockConfig {
 public:
  std::unique_ptr<BlockConfig> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// The norm at the start of block `layer`: with norm none, block 0 still has a LayerNorm, which brings the embeddings
/// to unit scale (authors' code; PAPER.md, section 1).
Norm make_first_norm(const TransformerConfig& config, int64_t layer);
Norm make_block_norm(const TransformerConfig& config);
int64_t n_first_norm_parameters(const TransformerConfig& config, int64_t layer);
int64_t n_block_norm_parameters(const TransformerConfig& config);

/// beta_ff at the start in the skipless blocks: O(1/sqrt(n_layer)), 0.1 at the paper's 18 layers.
double skipless_beta_ff(const TransformerConfig& config);

/// alpha*x + beta*branch, without the skip if its gain is fixed at 0.
torch::Tensor gained_sum(const Gain& alpha, const torch::Tensor& x, BranchGain& beta, const torch::Tensor& branch,
                         const AttentionMask& mask);

/// a*x + b*y of two branches, without x if its gain is fixed at 0.
torch::Tensor branch_sum(BranchGain& a, const torch::Tensor& x, BranchGain& b, const torch::Tensor& y,
                         const AttentionMask& mask);

/// What every variant's check() looks at.
void check_block(Problems& problems, const AttentionConfig& attention, const BranchGainConfig& beta_sa,
                 const BranchGainConfig& beta_ff);

/// How many of these scalar gains are trained.
int64_t n_trained(std::initializer_list<const GainConfig*> gains);

}  // namespace skipless
