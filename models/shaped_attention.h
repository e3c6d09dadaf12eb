// Shaped attention (PAPER.md, section 1; the paper's Eq. 5): out_h = (alpha_h*I + beta_h*A_h - gamma_h*C) V_h.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <functional>

#include "configs/schema.h"
#include "models/gain.h"
#include "models/identity_start.h"
#include "models/step_follower.h"

namespace skipless {

/// The three gains of the attention matrix. {0, 1, 0} fixed is ordinary softmax attention.
struct ShapedAttentionConfig {
  HeadGainConfig alpha;  // on the identity I
  HeadGainConfig beta;   // on A = softmax(Q K^T / sqrt(dh) + mask)
  HeadGainConfig gamma;  // on C, the value of A at zero query-key product

  void keys(Schema& s);
  void resolve_ordinary();  // {0, 1, 0} fixed
  void resolve_shaped();    // {1, 1, 1} trainable
  int64_t n_parameters(int64_t n_head) const;
};

class AttentionCache;
class ShapedAttentionImpl;

/// Told of the queries and all keys of a call, for statistics of the matrix that they make.
using AttentionObserver =
    std::function<void(ShapedAttentionImpl& attention, const torch::Tensor& q, const torch::Tensor& k)>;

/// Which keys each query may see: those of the same call, and those that a cache holds.
struct AttentionMask {
  bool causal = true;
  /// [B, T] bool, true where a token is kept; undefined: every token. In a causal model it leaves C unchanged, as in
  /// the authors' code: real tokens never see the padding on their right, so only padded rows feel the difference. In
  /// an encoder C is 1/(kept keys) on the kept keys: A at zero query-key product. A row that sees no key has A = C = 0.
  torch::Tensor kept{};
  /// Without a causal mask, C is 1/T on every key, whatever `kept` says. False: the same mask as that of A.
  bool centre_over_all = false;
  /// Of the layer that is called; null: none. Its tokens come before those of the call, which are added to it. For
  /// causal models without padding.
  AttentionCache* cache = nullptr;
  /// The pass repeats an earlier one for its backward (recompute.h): what counts once per pass was counted then.
  bool recomputing = false;
  /// Null: none.
  const AttentionObserver* observer = nullptr;
};

/// Q, K, V [B, H, T, dh] -> [B, H, T, dh]. With a cache of S tokens, keys and values are those of S + T tokens.
///
/// Ordinary path: alpha*V + beta*SDPA(Q, K, V) - gamma*mean_C(V), where mean_C is the running mean over positions, or
/// the mean over the kept ones without a causal mask, so that no T x T matrix of our own stands in memory. The logit
/// soft-cap c*tanh(S/c) changes S inside the softmax, which LibTorch's fused attention cannot do: with it the plain
/// formula below runs, whose memory grows with T^2.
///
/// On a CPU, in float32 and bfloat16, the three terms are one operation (fused_attention.h). On a device whose kernels
/// are in use (device_kernels.h) all but the softmax attention are (fused_combine.h), in the dtype of V.
///
/// Dropout acts on A alone: I and C are no choice of the queries, and beta*A - gamma*C is no longer 0 at the start.
/// With an identity start P becomes lambda*I + (1 - lambda)*P (identity_start.h); lambda is a buffer of that name. At
/// lambda 1 the output is V, and the gradients of queries and keys are 0; at lambda 0 it is the output without.
class ShapedAttentionImpl : public torch::nn::Module, public StepFollower {
 public:
  ShapedAttentionImpl(const ShapedAttentionConfig& config, int64_t n_head, double soft_cap, double dropout = 0,
                      const IdentityStartConfig& identity_start = {});

  void begin_step(int64_t step) override;
  void end_step(const torch::Tensor&) override {}

  torch::Tensor forward(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const AttentionMask& mask);
  /// The formula as it is written, with P = alpha*I + (beta*A - gamma*C) in memory: the reference of the path above.
  /// The difference is taken first because beta*A - gamma*C is exactly 0 at the start, while (1 + 1/11) - 1/11 is
  /// not 1. `k` and `v` are those of all S + T tokens; a cache is neither read nor changed.
  torch::Tensor plain(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                      const AttentionMask& mask);
  /// A = softmax(Q K^T / sqrt(dh) + mask), [B, H, T, S + T], where `k` holds the keys of all S + T tokens.
  torch::Tensor softmax_matrix(const torch::Tensor& q, const torch::Tensor& k, const AttentionMask& mask) const;
  /// P itself, of the same shape; without its term of C where it is not to be `centred`.
  torch::Tensor matrix(const torch::Tensor& q, const torch::Tensor& k, const AttentionMask& mask, bool centred = true);

 private:
  /// alpha*V + beta*O - gamma*mean_C(V) of v and o = A V.
  torch::Tensor combined(const torch::Tensor& v, const torch::Tensor& o, const AttentionMask& mask);

  Gain alpha_{nullptr};
  Gain beta_{nullptr};
  Gain gamma_{nullptr};
  double soft_cap_;
  double dropout_;
  IdentityStartConfig identity_start_;
  torch::Tensor lambda_;  // scalar; only with an identity start
};
TORCH_MODULE(ShapedAttention);

}  // namespace skipless
