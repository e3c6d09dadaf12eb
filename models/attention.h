// The attention sub-block that all variants share: query/key map, value map, shaped attention, output projection.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <optional>
#include <span>

#include "models/gained_linear.h"
#include "models/norm.h"
#include "models/shaped_attention.h"
#include "models/transformer_config.h"

namespace skipless {

/// Whether W_init of the output projection undoes W_init of the values, so that their product is I at the start.
enum class TieInit { none, all_blocks, last_block };
std::span<const EnumName<TieInit>> enum_names(TieInit);

struct AttentionConfig {
  ShapedAttentionConfig shape{};
  ProjectionConfig value{};
  ProjectionConfig first_layer_value{.kind = ProjectionKind::same};
  ProjectionConfig projection{};
  ProjectionConfig last_layer_projection{.kind = ProjectionKind::same};
  TieInit tie_init = TieInit::none;
  InitConfig query_init{};  // std empty: init_std

  void keys(Schema& s);
  /// `gains_trainable`: default of the gains of gained projections. The shape's gains are resolved by the block.
  void resolve(bool gains_trainable);
  /// W_Q = 0, unless the user says how it starts.
  void start_queries_at_zero();
  void check(Problems& problems) const;

  const ProjectionConfig& value_of(int64_t layer) const;
  const ProjectionConfig& projection_of(int64_t layer, int64_t n_layer) const;
  int64_t n_parameters(const TransformerConfig& config, int64_t layer) const;
  /// Those of its matrices alone, which are multiplied with every token.
  int64_t n_matrix_parameters(const TransformerConfig& config, int64_t layer) const;
};

/// x [B, T, D] -> [B, T, D]:
///   q, k = x W_qk + b_qk, v = value(x), each split in H heads of dh columns; per head out_h = P_h v_h
///   (shaped_attention.h); y = projection(concat_h out_h).
/// Dropout ends it. Start: W_Q by query_init, W_K by init.key, biases 0.
class AttentionImpl : public torch::nn::Module {
 public:
  AttentionImpl(const AttentionConfig& config, const TransformerConfig& transformer, int64_t layer);

  torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask);

  GainedLinear& value() { return value_; }
  GainedLinear& projection() { return projection_; }

 private:
  int64_t n_head_;
  double dropout_;
  torch::Tensor w_qk_;  // [2D, D]: rows 0..D-1 give the queries, D..2D-1 the keys; head h owns rows h*dh.. of each
  torch::Tensor b_qk_;  // [2D] or undefined
  Norm q_norm_;         // with qk_norm, over dh
  Norm k_norm_;
  GainedLinear value_{nullptr};
  ShapedAttention shape_{nullptr};
  GainedLinear projection_{nullptr};
};
TORCH_MODULE(Attention);

/// Ties W_init over the whole stack: TieInit::last_block sets the last projection's W_init to the inverse of the
/// product of all the others (their transpose: W_init is orthogonal). TieInit::all_blocks was done by each Attention.
void tie_last_block(const std::vector<Attention>& stack);

}  // namespace skipless
