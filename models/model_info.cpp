#include "models/model_info.h"

#include <algorithm>

#include "models/bert.h"
#include "models/feed_forward.h"
#include "models/token_loss.h"

namespace skipless {

namespace {

int64_t head_matrix_parameters(const ModelConfig& config) {
  const int64_t transform = config.mlm_head.transform ? config.d_model * config.d_model : 0;
  return config.n_embedding() * config.d_model + transform;  // tied or not
}

int64_t block_matrix_parameters(const ModelConfig& config) {
  const auto settings = config.block_config().settings(config);
  int64_t sum = 0;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    sum += config.block_config().attention_config().n_matrix_parameters(settings, layer) +
           FeedForwardImpl::n_matrix_parameters(settings);
  }
  return sum;
}

/// Floats that one block keeps per token for its backward pass.
double kept_floats(const ModelConfig& config, int64_t layer) {
  const double d = static_cast<double>(config.d_model), d_ff = static_cast<double>(*config.d_ff);
  const auto settings = config.block_config().settings(config);
  const auto& attention = config.block_config().attention_config();
  double kept = 2 * d;                                  // q, k
  kept += 2 * d;                                        // the attention's output, before and after its gain
  kept += settings.norm == NormKind::none ? d : 3 * d;  // each norm's input and normalised output; the block's output
  if (settings.qk_norm) kept += 2 * d;
  if (attention.value_of(layer).kind != ProjectionKind::identity) kept += d;
  if (attention.projection_of(layer, config.n_layer).kind != ProjectionKind::identity) kept += d;
  if (!attention.shape.gamma.fixed_at(0)) kept += d;  // the running mean, which its gain multiplies
  kept += d;                                          // the feed-forward's output, which its gain multiplies
  kept += config.activation == Activation::relu ? d_ff : 2 * d_ff;
  if (config.soft_cap > 0) kept += 4.0 * static_cast<double>(config.n_head * config.context_length);
  return kept;
}

}  // namespace

std::vector<PartSize> parameter_table(const ModelConfig& config) {
  const int64_t d = config.d_model;
  const auto settings = config.block_config().settings(config);
  PartSize attention{"attention"}, feed_forward{"feed-forward"}, rest{"norms and gains of the blocks"};
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    const int64_t of_attention = config.block_config().attention_config().n_parameters(settings, layer);
    const int64_t of_feed_forward = FeedForwardImpl::n_parameters(config);
    attention.parameters += of_attention;
    feed_forward.parameters += of_feed_forward;
    rest.parameters += config.block_config().n_parameters(config, layer) - of_attention - of_feed_forward;
  }
  const int64_t positions = config.positions == PositionKind::learned             ? *config.n_positions * d
                            : config.positions == PositionKind::scaled_sinusoidal ? 1
                                                                                  : 0;
  const int64_t head = (config.tied_head ? 0 : config.n_embedding() * d) +
                       (config.mlm_head.transform ? MlmTransformImpl::n_parameters(d) : 0) +
                       (config.mlm_head.bias ? config.n_embedding() : 0);
  std::vector<PartSize> table{{"token embedding", config.n_embedding() * d}, {"position embedding", positions}};
  if (config.n_token_types > 0) table.push_back({"token types", config.n_token_types * d});
  if (config.embedding_norm != NormKind::none) {
    table.push_back({"embedding norm", n_norm_parameters(config.embedding_norm, d)});
  }
  for (const auto& part : {attention, feed_forward, rest}) table.push_back(part);
  table.push_back({"final norm", n_norm_parameters(config.final_norm, d)});
  table.push_back({"head", head});
  return table;
}

int64_t n_parameters(const ModelConfig& config) {
  int64_t sum = 0;
  for (const auto& part : parameter_table(config)) sum += part.parameters;
  return sum;
}

FlopsPerToken flops_per_token(const ModelConfig& config, double predicted) {
  const double t = static_cast<double>(config.context_length);
  const double visible = config.kind == ModelKind::gpt ? (t + 1) / 2 : t;
  const double attention = 4.0 * static_cast<double>(config.d_model * config.n_layer) * visible;
  const double matrices = static_cast<double>(block_matrix_parameters(config)) +
                          predicted * static_cast<double>(head_matrix_parameters(config));
  const double forward = 2 * matrices + attention;
  return {.forward = forward, .training = 3 * forward};
}

MemoryEstimate training_memory(const ModelConfig& config, int64_t sequences, bool recompute) {
  const double parameters = static_cast<double>(n_parameters(config));
  const double tokens = static_cast<double>(sequences * config.context_length);
  const int64_t predicted = config.kind == ModelKind::gpt ? config.context_length - 1 : config.context_length;
  const int64_t rows = loss_chunk_rows(sequences * predicted, config.n_embedding());
  double kept = 2.0 * static_cast<double>(config.d_model);  // embedding sum, final norm
  double largest = 0;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    largest = std::max(largest, kept_floats(config, layer));
    kept += recompute ? static_cast<double>(config.d_model) : kept_floats(config, layer);
  }
  if (recompute) kept += largest;
  return {.weights = 4 * parameters,
          .gradients = 4 * parameters,
          .optimizer = 8 * parameters,
          .activations = 4 * tokens * kept,
          .logits = 4.0 * static_cast<double>(config.n_embedding() * (2 * rows + config.d_model))};
}

}  // namespace skipless
