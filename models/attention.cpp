#include "models/attention.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>

#include <array>

namespace skipless {

std::span<const EnumName<TieInit>> enum_names(TieInit) {
  static constexpr std::array<EnumName<TieInit>, 3> kNames{
      {{TieInit::none, "none"}, {TieInit::all_blocks, "all_blocks"}, {TieInit::last_block, "last_block"}}};
  return kNames;
}

void AttentionConfig::keys(Schema& s) {
  shape.keys(s);
  s.section("value", value, "the value projection W_V");
  s.section("first_layer_value", first_layer_value, "exception for block 0");
  s.section("projection", projection, "the output projection W_P");
  s.section("last_layer_projection", last_layer_projection, "exception for the last block");
  s.key("tie_init", tie_init, "W_init of the projections undoes that of the values: in each block, or in the last one");
  s.section("query_init", query_init, "start of W_Q; std empty: the block's own");
}

void AttentionConfig::resolve(bool gains_trainable) {
  for (auto* projection_config : {&value, &first_layer_value, &projection, &last_layer_projection}) {
    projection_config->resolve(gains_trainable);
  }
}

void AttentionConfig::start_queries_at_zero() {
  if (query_init.kind == WeightInit::normal && !query_init.std) query_init.std = 0;
}

void AttentionConfig::check(Problems& problems) const {
  query_init.check(problems, "query_init");
  value.check(problems, "value", false);
  first_layer_value.check(problems, "first_layer_value", true);
  projection.check(problems, "projection", false);
  last_layer_projection.check(problems, "last_layer_projection", true);
  if (tie_init == TieInit::none) return;
  for (const auto* config : {&value, &projection, &first_layer_value, &last_layer_projection}) {
    if (config->kind != ProjectionKind::gained && config->kind != ProjectionKind::same) {
      problems.add("tie_init", "ties the W_init of values and projections, which only 'kind: gained' has");
      return;
    }
  }
}

const ProjectionConfig& AttentionConfig::value_of(int64_t layer) const {
  return layer == 0 && first_layer_value.kind != ProjectionKind::same ? first_layer_value : value;
}

const ProjectionConfig& AttentionConfig::projection_of(int64_t layer, int64_t n_layer) const {
  return layer == n_layer - 1 && last_layer_projection.kind != ProjectionKind::same ? last_layer_projection
                                                                                    : projection;
}

namespace {

int64_t n_projection_matrices(const ProjectionConfig& config) {
  return config.kind == ProjectionKind::identity ? 0 : 1;
}

/// Without its matrix: bias and trained gains.
int64_t n_projection_extras(const ProjectionConfig& config, int64_t d, bool bias) {
  return (bias ? d : 0) + (*config.alpha.trainable ? 1 : 0) + (*config.beta.trainable ? 1 : 0);
}

/// [2D, D]. Normal keys are drawn together with the rows that the queries overwrite: a seed gives the weights that it
/// gave before the two could start differently.
torch::Tensor initial_query_key(const InitConfig& query, const InitConfig& key, int64_t d, double std) {
  auto w = initial_matrix(InitConfig{.std = key.std}, 2 * d, d, std);
  w.slice(0, 0, d).copy_(initial_matrix(query, d, d, std));
  if (key.kind != WeightInit::normal) w.slice(0, d).copy_(initial_matrix(key, d, d, std));
  return w;
}

/// [B, T, D] -> [B, H, T, dh], a view.
torch::Tensor split_heads(const torch::Tensor& x, int64_t n_head) {
  return x.unflatten(-1, {n_head, x.size(-1) / n_head}).transpose(1, 2);
}

/// [B, H, T, dh] -> [B, T, D]
torch::Tensor merge_heads(const torch::Tensor& x) {
  return x.transpose(1, 2).flatten(2);
}

}  // namespace

int64_t AttentionConfig::n_matrix_parameters(const TransformerConfig& config, int64_t layer) const {
  return (2 + n_projection_matrices(value_of(layer)) + n_projection_matrices(projection_of(layer, config.n_layer))) *
         config.d_model * config.d_model;
}

int64_t AttentionConfig::n_parameters(const TransformerConfig& config, int64_t layer) const {
  const int64_t d = config.d_model;
  return n_matrix_parameters(config, layer) + (config.bias.query_key ? 2 * d : 0) +
         (config.qk_norm ? 2 * config.head_size() : 0) + shape.n_parameters(config.n_head) +
         n_projection_extras(value_of(layer), d, config.bias.value) +
         n_projection_extras(projection_of(layer, config.n_layer), d, config.bias.projection);
}

AttentionImpl::AttentionImpl(const AttentionConfig& config, const TransformerConfig& transformer, int64_t layer)
    : n_head_(transformer.n_head), dropout_(transformer.dropout.branch) {
  const int64_t d = transformer.d_model;
  const double std = transformer.init_std;
  w_qk_ = register_parameter("w_qk", initial_query_key(config.query_init, transformer.init.key, d, std));
  if (transformer.bias.query_key) b_qk_ = register_parameter("b_qk", torch::zeros({2 * d}));
  if (transformer.qk_norm) {
    q_norm_ = register_module("q_norm", make_norm(NormKind::rms_norm, transformer.head_size(), transformer.norm_eps));
    k_norm_ = register_module("k_norm", make_norm(NormKind::rms_norm, transformer.head_size(), transformer.norm_eps));
  }
  value_ = register_module("value", GainedLinear(config.value_of(layer), d, transformer.bias.value, std));
  shape_ = register_module("shape", ShapedAttention(config.shape, n_head_, transformer.soft_cap,
                                                    transformer.dropout.attention, transformer.identity_start));
  projection_ = register_module(
      "projection", GainedLinear(config.projection_of(layer, transformer.n_layer), d, transformer.bias.projection, std,
                                 transformer.init.output_scale(transformer.n_layer)));
  if (config.tie_init == TieInit::all_blocks) projection_->w_init().copy_(value_->w_init().t());
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x, const AttentionMask& mask) {
  const auto qk = at::linear(x, w_qk_, b_qk_).chunk(2, -1);  // 2 x [B, T, D]
  auto q = split_heads(qk[0], n_head_);                      // [B, H, T, dh]
  auto k = split_heads(qk[1], n_head_);                      // [B, H, T, dh]
  const auto v = split_heads(value_->forward(x), n_head_);   // [B, H, T, dh]
  if (q_norm_) q = q_norm_->forward(q);
  if (k_norm_) k = k_norm_->forward(k);
  const auto y = projection_->forward(merge_heads(shape_->forward(q, k, v, mask)));  // [B, T, D]
  return dropout(dropout_, is_training(), y);
}

void tie_last_block(const std::vector<Attention>& stack) {
  // Row vectors pass x W_V^T W_P^T per block; with [out, in] storage the product so far acts from the left.
  torch::Tensor product;
  for (auto attention : stack) {
    const auto& value = attention->value()->w_init();
    product = product.defined() ? at::matmul(value, product) : value.clone();
    auto& projection = attention->projection()->w_init();
    if (attention.ptr() == stack.back().ptr()) {
      projection.copy_(product.t());
    } else {
      product = at::matmul(projection, product);
    }
  }
}

}  // namespace skipless
