#include "models/convert/expressed.h"

#include <fmt/format.h>

#include "configs/config_file.h"
#include "configs/error.h"
#include "models/convert/block_parts.h"

namespace skipless {

namespace {

/// The gain's value is in the weights; where it is fixed, it decides what is computed.
void forget_start(GainConfig* gain) {
  if (gain != nullptr && *gain->trainable) gain->init = 1;
}

/// The config without what the weights say, and without what only a new model or its training needs.
ModelConfig essence(ModelConfig config) {
  config.vocab_multiple = 1;
  config.context_length = *config.n_positions;
  config.init_std = ModelConfig{}.init_std;
  config.init = {};
  if (config.embedding_norm == NormKind::none) config.embedding_norm_eps = ModelConfig{}.embedding_norm_eps;
  // What the variant decides by itself, whatever the shared key says.
  static_cast<TransformerConfig&>(config) = config.block_config().settings(config);
  if (config.activation != Activation::leaky_relu) config.leaky_slope = ModelConfig{}.leaky_slope;
  const auto parts = block_parts(config);
  for (auto* gain : {parts.alpha_sa, parts.beta_sa, parts.alpha_ff, parts.beta_ff, parts.alpha_comb}) {
    forget_start(gain);
  }
  auto& attention = *parts.attention;
  for (auto* gain : {&attention.shape.alpha, &attention.shape.beta, &attention.shape.gamma}) {
    forget_start(gain);
    gain->per_head = true;
  }
  if (attention.shape.gamma.fixed_at(0)) config.centring_over = ModelConfig{}.centring_over;
  // An exception that says the same is none.
  if (attention.first_layer_value.kind == ProjectionKind::same) attention.first_layer_value = attention.value;
  if (attention.last_layer_projection.kind == ProjectionKind::same) {
    attention.last_layer_projection = attention.projection;
  }
  for (auto* projection :
       {&attention.value, &attention.first_layer_value, &attention.projection, &attention.last_layer_projection}) {
    forget_start(&projection->alpha);
    forget_start(&projection->beta);
    projection->init.std.reset();
    if (projection->kind != ProjectionKind::gained) projection->init = {};
  }
  attention.query_init = {};
  attention.tie_init = TieInit::none;
  return config;
}

/// With the value that an empty one stands for.
ModelConfig spelled_out(ModelConfig config) {
  auto& std = block_parts(config).attention->query_init.std;
  if (!std) std = config.init_std;
  return config;
}

std::vector<ConfigDifference> differences(const ModelConfig& a, const ModelConfig& b) {
  return compare_configs(write_config(a), write_config(b));
}

}  // namespace

ModelConfig as_computed_now(ModelConfig config, const Tensors& ours) {
  for (const auto& [name, tensor] : ours) {
    if (name.ends_with(".shape.lambda") && tensor.item<double>() != 0) return config;
  }
  config.identity_start = {};
  return config;
}

std::vector<std::string> require_expressed(const ModelConfig& config, const ModelConfig& read,
                                           const std::string& format) {
  if (config.block != read.block) {
    throw UserError(fmt::format("{} cannot express this model: model.block {} would be read as {} there", format,
                                config.block, read.block));
  }
  std::string refused;
  for (const auto& [path, ours, theirs] : differences(essence(config), essence(read))) {
    refused += fmt::format("\n  model.{} is {}, there {}", path, ours, theirs);
  }
  if (!refused.empty()) throw UserError(fmt::format("{} cannot express this model:{}", format, refused));
  std::vector<std::string> notes;
  for (const auto& [path, ours, theirs] : differences(spelled_out(config), spelled_out(read))) {
    notes.push_back(fmt::format("model.{} is {}, there {}", path, ours, theirs));
  }
  return notes;
}

}  // namespace skipless
