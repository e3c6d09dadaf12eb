#include "models/convert/cramming.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "configs/error.h"
#include "models/convert/block_parts.h"
#include "models/convert/checked_config.h"
#include "models/convert/expressed.h"
#include "models/convert/json_settings.h"

namespace skipless {

namespace {

using nlohmann::json;

constexpr const char* kEmbedding = "encoder.embedding.word_embedding.weight";
constexpr const char* kDecoder = "decoder.weight";
constexpr const char* kLearnedPositions = "encoder.embedding.pos_embedding.embedding.weight";

constexpr KeyOrigin kOrigins[] = {{"model.n_layer", "arch.num_transformer_layers"},
                                  {"model.d_model", "arch.hidden_size"},
                                  {"model.n_head", "arch.attention.num_attention_heads"},
                                  {"model.d_ff", "arch.intermed_size"},
                                  {"model.context_length", "arch.embedding.max_seq_length"},
                                  {"model.n_positions", "arch.embedding.max_seq_length"},
                                  {"model.padding_id", "arch.embedding.pad_token_id"},
                                  {"model.norm_eps", "arch.norm_eps"},
                                  {"model.embedding_norm_eps", "arch.norm_eps"},
                                  {"model.final_norm_eps", "arch.norm_eps"},
                                  {"model.init_std", "arch.init.std"},
                                  {"model.dropout.embedding", "arch.embedding.dropout_prob"},
                                  {"model.dropout.attention", "arch.attention.dropout_prob"},
                                  {"model.dropout.branch", "arch.hidden_dropout_prob"},
                                  {"head.hidden_width", "arch.classification_head.head_dim"},
                                  {"head.dropout", "arch.classification_head.classifier_dropout"}};

template <class Value>
using Names = std::array<std::pair<std::string_view, Value>, 3>;

constexpr Names<PositionKind> kPositions{{{"scaled-sinusoidal", PositionKind::scaled_sinusoidal},
                                          {"sinusoidal", PositionKind::sinusoidal},
                                          {"learned", PositionKind::learned}}};
constexpr Names<Activation> kNonlinearities{
    {{"GELUglu", Activation::geglu}, {"GELU", Activation::gelu}, {"ReLU", Activation::relu}}};

template <class Value>
Value choice(const JsonSettings& settings, const char* key, const Names<Value>& names) {
  const auto given = settings.text(key, "");
  std::string allowed;
  for (const auto& [name, value] : names) {
    if (given == name) return value;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name);
  }
  settings.wrong(key, allowed);
}

template <class Value>
std::string_view name_in(const Names<Value>& names, Value wanted) {
  for (const auto& [name, value] : names) {
    if (value == wanted) return name;
  }
  return names.front().first;
}

class CrammingMapBuilder {
 public:
  explicit CrammingMapBuilder(const ModelConfig& config)
      : config_(config), parts_(block_parts(config_)), d_(config.d_model) {}

  /// `unused`: tensors that the layers register and never read.
  TensorMap build(const std::optional<ClassifierConfig>& classifier, const TensorMap& unused) {
    const std::string embedding = "encoder.embedding.";
    add(kEmbedding, {config_.vocab_size, d_}, "embedding.tokens");
    if (config_.positions == PositionKind::learned) {
      add(kLearnedPositions, {*config_.n_positions, d_}, "embedding.positions");
    }
    if (config_.positions == PositionKind::scaled_sinusoidal) {
      add(embedding + "pos_embedding.scale_factor", {1}, "embedding.position_scale");
    }
    add_norm(embedding + "norm.", config_.embedding_norm, "embedding.norm.");
    for (int64_t layer = 0; layer < config_.n_layer; ++layer) add_block(layer);
    add_norm("encoder.final_norm.", config_.final_norm, "final_norm.");
    if (classifier) {
      const int64_t width = classifier->hidden_layer ? classifier->hidden_width.value_or(d_) : d_;
      if (classifier->hidden_layer) add_linear("pooler.dense.", d_, width, true, "head_w_1", "head_b_1");
      add_linear("head.", width, classifier->n_labels, true, "head_w_2", "head_b_2");
    } else {
      add_mlm_head();
    }
    map_.insert(map_.end(), unused.begin(), unused.end());
    return std::move(map_);
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, const std::string& ours, int64_t rows_begin = -1,
           Layout layout = Layout::same) {
    const int64_t rows = shape[0];
    map_.push_back({.name = name,
                    .shape = std::move(shape),
                    .pieces = {{.ours = ours, .layout = layout, .length = rows, .rows_begin = rows_begin}},
                    .dimension = 0});
  }

  void add_norm(const std::string& theirs, NormKind kind, const std::string& ours) {
    if (kind == NormKind::none) return;
    for (const char* part : {"weight", "bias"}) add(theirs + part, {d_}, ours + part);
  }

  void add_linear(const std::string& theirs, int64_t in, int64_t out, bool has_bias, const std::string& weight,
                  const std::string& bias) {
    add(theirs + "weight", {out, in}, weight);
    if (has_bias) add(theirs + "bias", {out}, bias);
  }

  void add_block(int64_t layer) {
    const auto theirs = fmt::format("encoder.layers.{}.", layer);
    const auto ours = fmt::format("block_{}.", layer);
    const bool gained = config_.block != "pre_ln";
    if (gained) {
      add_gains(theirs, ours, layer);
    } else {
      add_attention(theirs + "attn.", ours + "attention.");
    }
    const auto first = config_.norm == NormKind::none && layer == 0 ? NormKind::layer_norm : config_.norm;
    add_norm(theirs + "norm1.", first, ours + (parts_.parallel ? "norm." : "norm_1."));
    if (!parts_.parallel) add_norm(theirs + "norm2.", config_.norm, ours + "norm_2.");
    const int64_t d_ff = *config_.d_ff, inner = config_.activation == Activation::geglu ? d_ff / 2 : d_ff;
    const auto feed_forward = ours + "feed_forward.";
    add_linear(theirs + "ffn.dense_in.", d_, d_ff, config_.bias.feed_forward, feed_forward + "w_1",
               feed_forward + "b_1");
    add_linear(theirs + "ffn.dense_out.", inner, d_, config_.bias.feed_forward, feed_forward + "w_2",
               feed_forward + "b_2");
  }

  void add_attention(const std::string& theirs, const std::string& ours) {
    add_fused(theirs + "self_attention.query_key_value.weight", {3 * d_, d_}, ours + "w_qk", ours + "value.weight");
    if (config_.bias.query_key) {
      add_fused(theirs + "self_attention.query_key_value.bias", {3 * d_}, ours + "b_qk", ours + "value.bias");
    }
    add_linear(theirs + "dense.", d_, d_, config_.bias.projection, ours + "projection.weight",
               ours + "projection.bias");
  }

  /// Rows [q_h k_h v_h], head by head.
  void add_fused(const std::string& name, std::vector<int64_t> shape, const std::string& query_key,
                 const std::string& value) {
    TheirTensor entry{.name = name, .shape = std::move(shape), .dimension = 0};
    const int64_t size = config_.head_size();
    for (int64_t head = 0; head < config_.n_head; ++head) {
      const int64_t begin = 3 * head * size, row = head * size;
      entry.pieces.push_back({.ours = query_key, .begin = begin, .length = size, .rows_begin = row});
      entry.pieces.push_back({.ours = query_key, .begin = begin + size, .length = size, .rows_begin = d_ + row});
      entry.pieces.push_back({.ours = value, .begin = begin + 2 * size, .length = size, .rows_begin = row});
    }
    map_.push_back(std::move(entry));
  }

  void add_gains(const std::string& theirs, const std::string& ours, int64_t layer) {
    const auto attention = ours + "attention.";
    add(theirs + "query.weight", {d_, d_}, attention + "w_qk", 0);
    add(theirs + "key.weight", {d_, d_}, attention + "w_qk", d_);
    const std::pair<const char*, const char*> shape[] = {{"attn_mat_skip_gain", "shape.alpha.value"},
                                                         {"attn_mat_resid_gain", "shape.beta.value"},
                                                         {"centre_attn_gain", "shape.gamma.value"}};
    for (const auto& [name, gain] : shape) {
      add(theirs + name, {config_.n_head}, attention + gain, -1, Layout::per_head);
    }
    if (parts_.attention->value_of(layer).kind == ProjectionKind::gained) {
      // Their delta is [in, out].
      add(theirs + "value_delta", {d_, d_}, attention + "value.weight", -1, Layout::transposed);
      add(theirs + "value_skip_gain", {1}, attention + "value.alpha.value");
      add(theirs + "value_resid_gain", {1}, attention + "value.beta.value");
    }
    add(theirs + "attn_block_resid_gain", {1}, ours + "beta_sa.value");
    add(theirs + "mlp_block_resid_gain", {1}, ours + "beta_ff.value");
    if (parts_.alpha_ff != nullptr) add(theirs + "mlp_block_skip_gain", {1}, ours + "alpha_ff.value");
  }

  void add_mlm_head() {
    if (config_.mlm_head.transform) {
      add_linear("prediction_head.dense.", d_, d_, true, "mlm_transform.w", "mlm_transform.b");
      add_norm("prediction_head.norm.", NormKind::layer_norm, "mlm_transform.norm.");
    }
    if (config_.mlm_head.bias) add("decoder.bias", {config_.vocab_size}, "head_bias");
    if (!config_.tied_head) add(kDecoder, {config_.vocab_size, d_}, "head");
  }

  ModelConfig config_;
  BlockParts parts_;
  int64_t d_;
  TensorMap map_;
};

/// What a file says beside its settings.
struct FileFacts {
  std::string block = "pre_ln";
  bool norms = true;  // in the layers after the first
  int64_t vocab_size = 0;
  int64_t n_positions = 0;  // 0: not by the tensors
};

void require_supported(const JsonSettings& arch) {
  arch.require_text("norm", "LayerNorm");
  arch.require_text("norm_scheme", "pre");
  if (const auto& every = arch.at("ffn_layer_frequency"); !every.is_null() && every != 1) {
    arch.wrong("ffn_layer_frequency", "1");
  }
  const auto attention = arch.section("attention");
  attention.require_text("type", "self-attention");
  attention.require("causal_attention", false);
  attention.require("skip_output_projection", false);
  attention.require("rotary_embedding", false);
  attention.require_text("sequence_op", "torch-softmax");
}

ModelConfig model_config(const json& file, const FileFacts& facts, const std::string& source) {
  const JsonSettings settings(file, source);
  const auto arch = settings.section("arch");
  const auto embedding = arch.section("embedding"), attention = arch.section("attention");
  require_supported(arch);
  ModelConfig config;
  config.kind = ModelKind::bert;
  config.block = facts.block;
  config.n_layer = arch.count("num_transformer_layers");
  config.d_model = arch.count("hidden_size");
  config.n_head = attention.count("num_attention_heads");
  config.d_ff = arch.count("intermed_size");
  config.vocab_size = facts.vocab_size;
  config.n_positions = facts.n_positions > 0 ? facts.n_positions : embedding.count("max_seq_length");
  config.context_length = *config.n_positions;
  config.positions = choice(embedding, "pos_embedding", kPositions);
  config.padding_id = embedding.id("pad_token_id");
  if (embedding.count("embedding_dim") != config.d_model) embedding.wrong("embedding_dim", "hidden_size");
  config.norm = facts.norms ? NormKind::layer_norm : NormKind::none;
  config.embedding_norm = embedding.flag("normalization", false) ? NormKind::layer_norm : NormKind::none;
  config.final_norm = arch.flag("final_norm", false) ? NormKind::layer_norm : NormKind::none;
  config.norm_eps = config.embedding_norm_eps = config.final_norm_eps = arch.number("norm_eps", 1e-12);
  config.activation = choice(arch, "nonlin", kNonlinearities);
  const bool bias = arch.flag("use_bias", true), qkv_bias = attention.flag("qkv_bias", true);
  config.bias = {.query_key = qkv_bias, .value = qkv_bias, .projection = bias, .feed_forward = bias};
  config.mlm_head = {.transform = !arch.flag("skip_head_transform", false), .bias = arch.flag("decoder_bias", true)};
  if (config.mlm_head.transform && !bias) arch.wrong("skip_head_transform", "true, where use_bias is false");
  config.tied_head = arch.flag("tie_weights", true);
  config.init_std = arch.section("init").number("std", 0.02);
  config.dropout = {.embedding = embedding.number("dropout_prob", 0),
                    .attention = attention.number("dropout_prob", 0),
                    .branch = arch.number("hidden_dropout_prob", 0)};
  finish_config(config, kOrigins, source);
  return config;
}

/// `family`: what the settings call themselves.
FileFacts facts_of(const Tensors& theirs, const std::string& family, const ImportSource& source) {
  FileFacts facts;
  const auto tokens = theirs.find(kEmbedding);
  if (tokens == theirs.end() || tokens->second.dim() != 2) {
    throw UserError(fmt::format("{}: no matrix '{}'", source.weights, kEmbedding));
  }
  facts.vocab_size = tokens->second.size(0);
  const auto positions = theirs.find(kLearnedPositions);
  if (positions != theirs.end() && positions->second.dim() == 2) facts.n_positions = positions->second.size(0);
  if (theirs.count("encoder.layers.0.attn_mat_skip_gain") > 0) {
    const bool skip = theirs.count("encoder.layers.0.mlp_block_skip_gain") > 0;
    facts.block = skip && family.find("SAS-P") == family.npos ? "sas" : "sas_p";
    facts.norms = theirs.count("encoder.layers.1.norm1.weight") > 0;
  }
  return facts;
}

/// The map has a piece for each head of each layer, and so many heads as the settings name there may be only if the
/// file has the width for them.
void require_width(const Tensors& theirs, int64_t d_model, const ImportSource& source) {
  const auto& embedding = theirs.at(kEmbedding);
  if (embedding.size(1) == d_model) return;
  throw UserError(fmt::format("{}: arch.hidden_size is {}, but tensor '{}' of {} has the shape {}", source.settings,
                              d_model, kEmbedding, source.weights, shape_text(embedding.sizes())));
}

std::optional<ClassifierConfig> classifier_config(const json& file, const Tensors& theirs, const std::string& source) {
  const auto last = theirs.find("head.weight");
  if (last == theirs.end()) return std::nullopt;
  const auto head = JsonSettings(file, source).section("arch").section("classification_head");
  ClassifierConfig config{.n_labels = last->second.dim() == 2 ? last->second.size(0) : 1, .hidden_width = {}};
  const auto pooler = head.text("pooler", "zero_index");
  if (pooler != "zero_index" && pooler != "avg") head.wrong("pooler", "zero_index, avg");
  config.pooling = pooler == "avg" ? Pooling::mean : Pooling::cls;
  // Theirs has the tanh also without the layer before it.
  head.require("include_ff_layer", true);
  head.require_text("nonlin", "Tanh");
  config.hidden_width = head.count("head_dim");
  config.dropout = head.number("classifier_dropout", 0);
  check_head(config, kOrigins, source);
  return config;
}

/// What a parallel layer registers and does not read.
TensorMap unused_tensors(const ModelConfig& config, const Tensors& theirs) {
  TensorMap map;
  if (config.block != "sas_p") return map;
  for (const auto& [name, tensor] : theirs) {
    if (!name.starts_with("encoder.layers.")) continue;
    if (name.find(".norm2.") == name.npos && !name.ends_with(".mlp_block_skip_gain")) continue;
    map.push_back({.name = name, .shape = tensor.sizes().vec()});
  }
  return map;
}

/// Their table, with their roundings: angles in float32, of which a sine keeps fewer digits than ours do.
at::Tensor their_sinusoids(int64_t n_positions, int64_t d) {
  const auto positions = at::arange(n_positions, at::kFloat).unsqueeze(1);
  const auto frequencies = at::exp(at::arange(0, d, 2, at::kFloat) * (-std::log(10000.0) / static_cast<double>(d)));
  const auto angles = positions * frequencies;
  auto table = at::empty({n_positions, d}, at::kFloat);
  table.slice(1, 0, d, 2).copy_(angles.sin());
  table.slice(1, 1, d, 2).copy_(angles.cos().slice(1, 0, d / 2));
  return table;
}

nlohmann::ordered_json cramming_settings(const ModelConfig& config) {
  const auto layer_norm = [](NormKind kind) { return kind == NormKind::layer_norm; };
  return {{"architectures", {"ScriptableLMForPreTraining"}},
          {"model_type", "crammedBERT"},
          {"arch",
           {{"architectures", {"ScriptableCrammedBERT"}},
            {"num_transformer_layers", config.n_layer},
            {"hidden_size", config.d_model},
            {"intermed_size", *config.d_ff},
            {"hidden_dropout_prob", config.dropout.branch},
            {"norm", "LayerNorm"},
            {"norm_eps", config.norm_eps},
            {"norm_scheme", "pre"},
            {"nonlin", name_in(kNonlinearities, config.activation)},
            {"tie_weights", config.tied_head},
            {"decoder_bias", config.mlm_head.bias},
            {"sparse_prediction", false},
            {"loss", "cross-entropy"},
            {"objective_layout", "MLM"},
            {"embedding",
             {{"vocab_size", config.vocab_size},
              {"pos_embedding", name_in(kPositions, config.positions)},
              {"dropout_prob", config.dropout.embedding},
              {"pad_token_id", config.padding_id ? nlohmann::ordered_json(*config.padding_id) : nullptr},
              {"max_seq_length", *config.n_positions},
              {"embedding_dim", config.d_model},
              {"normalization", layer_norm(config.embedding_norm)},
              {"stable_low_precision", false}}},
            {"attention",
             {{"type", "self-attention"},
              {"causal_attention", false},
              {"num_attention_heads", config.n_head},
              {"dropout_prob", config.dropout.attention},
              {"skip_output_projection", false},
              {"qkv_bias", config.bias.query_key},
              {"rotary_embedding", false},
              {"seq_op_in_fp32", false},
              {"sequence_op", "torch-softmax"}}},
            {"init", {{"type", "normal"}, {"std", config.init_std}}},
            {"ffn_layer_frequency", 1},
            {"skip_head_transform", !config.mlm_head.transform},
            {"use_bias", config.bias.projection},
            {"final_norm", layer_norm(config.final_norm)},
            {"num_labels", nullptr},
            {"classification_head",
             {{"pooler", "zero_index"},
              {"include_ff_layer", true},
              {"head_dim", config.d_model},
              {"nonlin", "Tanh"},
              {"classifier_dropout", 0.1}}}}}};
}

}  // namespace

bool is_cramming_config(const json& settings) {
  return settings.is_object() && settings.contains("arch") && settings["arch"].is_object() &&
         settings["arch"].contains("num_transformer_layers");
}

ImportedModel import_cramming(const json& settings, Tensors theirs, const ImportSource& source) {
  ImportedModel result;
  result.config = model_config(
      settings, facts_of(theirs, JsonSettings(settings, source.settings).text("family", ""), source), source.settings);
  require_layers(result.config.n_layer, theirs, "arch.num_transformer_layers", source);
  require_width(theirs, result.config.d_model, source);
  const auto classifier = classifier_config(settings, theirs, source.settings);
  if (classifier) {
    result.head = SequenceHead{.config = *classifier, .labels = {}, .tensors = {}};
    result.config.mlm_head = {};
    result.config.tied_head = true;
  }
  if (result.config.tied_head) merge_tied_head(theirs, kEmbedding, kDecoder, source.weights);
  std::erase_if(theirs, [](const auto& item) { return item.first.ends_with(".pos_embedding.position_ids"); });
  result.map = CrammingMapBuilder(result.config).build(classifier, unused_tensors(result.config, theirs));
  take_imported(result, our_tensors(result.map, theirs, source.weights));
  if (result.config.positions != PositionKind::learned) {
    result.tensors["embedding.positions"] = their_sinusoids(*result.config.n_positions, result.config.d_model);
  }
  return result;
}

ExportedModel export_cramming(const ModelConfig& trained, const Tensors& ours) {
  const ModelConfig config = as_computed_now(trained, ours);
  const auto settings = cramming_settings(config);
  ExportedModel result{.settings = settings.dump(2) + "\n", .tensors = {}, .notes = {}};
  const auto read = model_config(settings, {.vocab_size = config.vocab_size, .n_positions = *config.n_positions},
                                 "the written settings");
  result.notes = require_expressed(config, read, "the Cramming code");
  result.tensors = their_tensors(CrammingMapBuilder(config).build(std::nullopt, {}), ours);
  return result;
}

}  // namespace skipless
