#include "models/convert/gpt2.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "models/convert/checked_config.h"
#include "models/convert/expressed.h"
#include "models/convert/json_settings.h"

namespace skipless {

namespace {

using nlohmann::json;

constexpr std::string_view kGpt2Prefix = "transformer.";
constexpr const char* kGpt2Embedding = "transformer.wte.weight";
constexpr const char* kGpt2Head = "lm_head.weight";

constexpr KeyOrigin kOrigins[] = {{"model.n_layer", "n_layer"},
                                  {"model.d_model", "n_embd"},
                                  {"model.n_head", "n_head"},
                                  {"model.d_ff", "n_inner"},
                                  {"model.vocab_size", "vocab_size"},
                                  {"model.context_length", "n_positions"},
                                  {"model.n_positions", "n_positions"},
                                  {"model.norm_eps", "layer_norm_epsilon"},
                                  {"model.final_norm_eps", "layer_norm_epsilon"},
                                  {"model.init_std", "initializer_range"},
                                  {"model.dropout.embedding", "embd_pdrop"},
                                  {"model.dropout.attention", "attn_pdrop"},
                                  {"model.dropout.branch", "resid_pdrop"}};

class Gpt2MapBuilder {
 public:
  explicit Gpt2MapBuilder(const ModelConfig& config) : config_(config), d_(config.d_model) {}

  TensorMap build() {
    add(kGpt2Embedding, {config_.vocab_size, d_}, {{.ours = "embedding.tokens", .length = d_}});
    add("transformer.wpe.weight", {*config_.n_positions, d_}, {{.ours = "embedding.positions", .length = d_}});
    for (int64_t layer = 0; layer < config_.n_layer; ++layer) add_block(layer);
    add_norm("transformer.ln_f.", "final_norm.");
    if (!config_.tied_head) add(kGpt2Head, {config_.vocab_size, d_}, {{.ours = "head", .length = d_}});
    return std::move(map_);
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, std::vector<TensorPiece> pieces) {
    map_.push_back({.name = name, .shape = std::move(shape), .pieces = std::move(pieces)});
  }

  void add_norm(const std::string& theirs, const std::string& ours) {
    for (const char* part : {"weight", "bias"}) add(theirs + part, {d_}, {{.ours = ours + part, .length = d_}});
  }

  /// A Conv1D layer, whose weight is [in, out].
  void add_linear(const std::string& theirs, int64_t in, int64_t out, const std::string& weight,
                  const std::string& bias) {
    add(theirs + "weight", {in, out}, {{.ours = weight, .layout = Layout::transposed, .length = out}});
    add(theirs + "bias", {out}, {{.ours = bias, .length = out}});
  }

  void add_block(int64_t layer) {
    const auto theirs = fmt::format("transformer.h.{}.", layer);
    const auto ours = fmt::format("block_{}.", layer);
    add_norm(theirs + "ln_1.", ours + "norm_1.");
    // Queries, keys and values are columns of one matrix.
    add(theirs + "attn.c_attn.weight", {d_, 3 * d_},
        {{.ours = ours + "attention.w_qk", .layout = Layout::transposed, .length = 2 * d_},
         {.ours = ours + "attention.value.weight", .layout = Layout::transposed, .begin = 2 * d_, .length = d_}});
    add(theirs + "attn.c_attn.bias", {3 * d_},
        {{.ours = ours + "attention.b_qk", .length = 2 * d_},
         {.ours = ours + "attention.value.bias", .begin = 2 * d_, .length = d_}});
    add_linear(theirs + "attn.c_proj.", d_, d_, ours + "attention.projection.weight",
               ours + "attention.projection.bias");
    add_norm(theirs + "ln_2.", ours + "norm_2.");
    add_linear(theirs + "mlp.c_fc.", d_, *config_.d_ff, ours + "feed_forward.w_1", ours + "feed_forward.b_1");
    add_linear(theirs + "mlp.c_proj.", *config_.d_ff, d_, ours + "feed_forward.w_2", ours + "feed_forward.b_2");
  }

  const ModelConfig& config_;
  int64_t d_;
  TensorMap map_;
};

Activation activation(const JsonSettings& settings) {
  const auto name = settings.text("activation_function", "gelu_new");
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "gelu") return Activation::gelu;
  if (name == "relu") return Activation::relu;
  settings.wrong("activation_function", "gelu_new, gelu_pytorch_tanh, gelu, relu");
}

ModelConfig model_config(const json& file, const std::string& source) {
  const JsonSettings s(file, source);
  s.require("scale_attn_weights", true);
  s.require("scale_attn_by_inverse_layer_idx", false);
  s.require("add_cross_attention", false);
  ModelConfig config;
  config.block = "pre_ln";
  config.n_layer = s.count("n_layer");
  config.d_model = s.count("n_embd");
  config.n_head = s.count("n_head");
  if (!s.at("n_inner").is_null()) config.d_ff = s.count("n_inner");
  config.vocab_size = s.count("vocab_size");
  config.n_positions = s.count("n_positions");
  config.context_length = *config.n_positions;
  config.norm = NormKind::layer_norm;
  config.norm_eps = config.final_norm_eps = s.number("layer_norm_epsilon", 1e-5);
  config.final_norm = NormKind::layer_norm;
  config.activation = activation(s);
  config.bias = {.query_key = true, .value = true, .projection = true, .feed_forward = true};
  config.tied_head = s.flag("tie_word_embeddings", true);
  config.init_std = s.number("initializer_range", 0.02);
  config.dropout = {.embedding = s.number("embd_pdrop", 0),
                    .attention = s.number("attn_pdrop", 0),
                    .branch = s.number("resid_pdrop", 0)};
  finish_config(config, kOrigins, source);
  return config;
}

/// The base model alone is saved without the prefix that the language model's names have.
bool is_bare(const Tensors& theirs) {
  return theirs.count("wte.weight") > 0;
}

Tensors with_usual_names(Tensors theirs) {
  if (!is_bare(theirs)) return theirs;
  Tensors named;
  for (auto& [name, tensor] : theirs) {
    named.emplace(name == kGpt2Head ? name : std::string(kGpt2Prefix) + name, std::move(tensor));
  }
  return named;
}

nlohmann::ordered_json gpt2_settings(const ModelConfig& config, std::optional<int64_t> end_of_text) {
  const nlohmann::ordered_json end = end_of_text ? nlohmann::ordered_json(*end_of_text) : nullptr;
  const bool known = config.activation == Activation::gelu || config.activation == Activation::relu;
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", config.vocab_size},
          {"n_positions", *config.n_positions},
          {"n_embd", config.d_model},
          {"n_layer", config.n_layer},
          {"n_head", config.n_head},
          {"n_inner", *config.d_ff},
          {"activation_function", known ? name_of(config.activation) : "gelu_new"},
          {"layer_norm_epsilon", config.norm_eps},
          {"initializer_range", config.init_std},
          {"tie_word_embeddings", config.tied_head},
          {"resid_pdrop", config.dropout.branch},
          {"embd_pdrop", config.dropout.embedding},
          {"attn_pdrop", config.dropout.attention},
          {"bos_token_id", end},
          {"eos_token_id", end}};
}

}  // namespace

bool is_gpt2_config(const json& settings) {
  return settings.is_object() && settings.contains("model_type") && settings["model_type"] == "gpt2";
}

ImportedModel import_gpt2(const json& settings, Tensors theirs, const ImportSource& given) {
  const auto source = is_bare(theirs) ? with_prefix(given, kGpt2Prefix) : given;
  ImportedModel result;
  result.config = model_config(settings, source.settings);
  require_layers(result.config.n_layer, theirs, "n_layer", given);
  theirs = with_usual_names(std::move(theirs));
  std::erase_if(theirs, [](const auto& item) {
    return item.first.ends_with(".attn.bias") || item.first.ends_with(".attn.masked_bias");
  });
  if (result.config.tied_head) merge_tied_head(theirs, kGpt2Embedding, kGpt2Head, source.weights);
  result.map = gpt2_map(result.config);
  take_imported(result, our_tensors(result.map, theirs, source.weights));
  return result;
}

ExportedModel export_gpt2(const ModelConfig& trained, const Tensors& ours, std::optional<int64_t> end_of_text) {
  const ModelConfig config = as_computed_now(trained, ours);
  const auto settings = gpt2_settings(config, end_of_text);
  ExportedModel result{.settings = settings.dump(2) + "\n", .tensors = {}, .notes = {}};
  result.notes = require_expressed(config, model_config(settings, "the written settings"), "a GPT-2");
  result.tensors = their_tensors(gpt2_map(config), ours);
  return result;
}

TensorMap gpt2_map(const ModelConfig& config) {
  return Gpt2MapBuilder(config).build();
}

}  // namespace skipless
