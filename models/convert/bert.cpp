#include "models/convert/bert.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "configs/error.h"
#include "models/blocks/post_ln.h"
#include "models/convert/checked_config.h"
#include "models/convert/expressed.h"
#include "models/convert/json_settings.h"

namespace skipless {

namespace {

using nlohmann::json;

constexpr const char* kBertPrefix = "bert.";
constexpr const char* kBertEmbedding = "bert.embeddings.word_embeddings.weight";
constexpr const char* kBertDecoder = "cls.predictions.decoder.weight";
constexpr const char* kBertHeadBias = "cls.predictions.bias";
constexpr const char* kBertDecoderBias = "cls.predictions.decoder.bias";
constexpr const char* kBertClassifier = "classifier.weight";
constexpr const char* kBertPooler = "bert.pooler.dense.weight";

constexpr KeyOrigin kOrigins[] = {{"model.n_layer", "num_hidden_layers"},
                                  {"model.d_model", "hidden_size"},
                                  {"model.n_head", "num_attention_heads"},
                                  {"model.d_ff", "intermediate_size"},
                                  {"model.vocab_size", "vocab_size"},
                                  {"model.context_length", "max_position_embeddings"},
                                  {"model.n_positions", "max_position_embeddings"},
                                  {"model.n_token_types", "type_vocab_size"},
                                  {"model.padding_id", "pad_token_id"},
                                  {"model.norm_eps", "layer_norm_eps"},
                                  {"model.embedding_norm_eps", "layer_norm_eps"},
                                  {"model.final_norm_eps", "layer_norm_eps"},
                                  {"model.init_std", "initializer_range"},
                                  {"model.dropout.embedding", "hidden_dropout_prob"},
                                  {"model.dropout.branch", "hidden_dropout_prob"},
                                  {"model.dropout.attention", "attention_probs_dropout_prob"},
                                  {"head.dropout", "classifier_dropout"}};

class BertMapBuilder {
 public:
  explicit BertMapBuilder(const ModelConfig& config) : config_(config), d_(config.d_model) {}

  /// `classifies`: whether there is a last map behind the pooler.
  TensorMap build(const std::optional<SequenceHead>& head, bool classifies) {
    const std::string embeddings = "bert.embeddings.";
    add_matrix(kBertEmbedding, config_.vocab_size, d_, "embedding.tokens");
    add_matrix(embeddings + "position_embeddings.weight", *config_.n_positions, d_, "embedding.positions");
    add_matrix(embeddings + "token_type_embeddings.weight", config_.n_token_types, d_, "embedding.token_types");
    add_norm(embeddings + "LayerNorm.", "embedding.norm.");
    for (int64_t layer = 0; layer < config_.n_layer; ++layer) add_block(layer);
    add_mlm_head();
    if (!head) return std::move(map_);
    add_linear("bert.pooler.dense.", d_, d_, "head_w_1", "head_b_1");
    if (classifies) add_linear("classifier.", d_, head->config.n_labels, "head_w_2", "head_b_2");
    return std::move(map_);
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, const std::string& ours, int64_t rows_begin = -1) {
    const int64_t rows = shape[0];
    map_.push_back({.name = name,
                    .shape = std::move(shape),
                    .pieces = {{.ours = ours, .length = rows, .rows_begin = rows_begin}},
                    .dimension = 0});
  }

  void add_matrix(const std::string& name, int64_t rows, int64_t columns, const std::string& ours) {
    add(name, {rows, columns}, ours);
  }

  void add_norm(const std::string& theirs, const std::string& ours) {
    for (const char* part : {"weight", "bias"}) add(theirs + part, {d_}, ours + part);
  }

  void add_linear(const std::string& theirs, int64_t in, int64_t out, const std::string& weight,
                  const std::string& bias, int64_t rows_begin = -1) {
    add(theirs + "weight", {out, in}, weight, rows_begin);
    add(theirs + "bias", {out}, bias, rows_begin);
  }

  void add_block(int64_t layer) {
    const auto theirs = fmt::format("bert.encoder.layer.{}.", layer);
    const auto ours = fmt::format("block_{}.", layer);
    const auto attention = ours + "attention.", feed_forward = ours + "feed_forward.";
    // Queries and keys are the halves of one of our maps.
    add_linear(theirs + "attention.self.query.", d_, d_, attention + "w_qk", attention + "b_qk", 0);
    add_linear(theirs + "attention.self.key.", d_, d_, attention + "w_qk", attention + "b_qk", d_);
    add_linear(theirs + "attention.self.value.", d_, d_, attention + "value.weight", attention + "value.bias");
    add_linear(theirs + "attention.output.dense.", d_, d_, attention + "projection.weight",
               attention + "projection.bias");
    add_norm(theirs + "attention.output.LayerNorm.", ours + "norm_2.");
    add_linear(theirs + "intermediate.dense.", d_, *config_.d_ff, feed_forward + "w_1", feed_forward + "b_1");
    add_linear(theirs + "output.dense.", *config_.d_ff, d_, feed_forward + "w_2", feed_forward + "b_2");
    add_norm(theirs + "output.LayerNorm.",
             layer + 1 < config_.n_layer ? fmt::format("block_{}.norm_1.", layer + 1) : "final_norm.");
  }

  void add_mlm_head() {
    const std::string transform = "cls.predictions.transform.";
    if (config_.mlm_head.transform) {
      add_linear(transform + "dense.", d_, d_, "mlm_transform.w", "mlm_transform.b");
      add_norm(transform + "LayerNorm.", "mlm_transform.norm.");
    }
    if (config_.mlm_head.bias) add(kBertHeadBias, {config_.vocab_size}, "head_bias");
    if (!config_.tied_head) add_matrix(kBertDecoder, config_.vocab_size, d_, "head");
  }

  const ModelConfig& config_;
  int64_t d_;
  TensorMap map_;
};

Activation activation(const JsonSettings& settings) {
  const auto name = settings.text("hidden_act", "gelu");
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  settings.wrong("hidden_act", "gelu, gelu_new, gelu_pytorch_tanh, relu");
}

/// `mlm`: whether there is the head of a masked language model.
ModelConfig model_config(const json& file, bool mlm, const std::string& source) {
  const JsonSettings s(file, source);
  s.require_text("position_embedding_type", "absolute");
  s.require("is_decoder", false);
  s.require("add_cross_attention", false);
  ModelConfig config;
  config.kind = ModelKind::bert;
  config.block = "post_ln";
  static_cast<PostLnBlockImpl::Config&>(config.blocks[config.block]).first_norm = false;
  config.n_layer = s.count("num_hidden_layers");
  config.d_model = s.count("hidden_size");
  config.n_head = s.count("num_attention_heads");
  config.d_ff = s.count("intermediate_size");
  config.vocab_size = s.count("vocab_size");
  config.n_positions = s.count("max_position_embeddings");
  config.context_length = *config.n_positions;
  config.n_token_types = s.at("type_vocab_size").is_null() ? 2 : s.count("type_vocab_size");
  // An absent key stands for their default, 0; null for none.
  config.padding_id = file.contains("pad_token_id") ? s.id("pad_token_id") : 0;
  config.norm = config.embedding_norm = config.final_norm = NormKind::layer_norm;
  config.norm_eps = config.embedding_norm_eps = config.final_norm_eps = s.number("layer_norm_eps", 1e-12);
  config.activation = activation(s);
  config.bias = {.query_key = true, .value = true, .projection = true, .feed_forward = true};
  config.mlm_head = {.transform = mlm, .bias = mlm};
  config.tied_head = !mlm || s.flag("tie_word_embeddings", true);
  config.init_std = s.number("initializer_range", 0.02);
  const double hidden = s.number("hidden_dropout_prob", 0.1);
  config.dropout = {.embedding = hidden, .attention = s.number("attention_probs_dropout_prob", 0.1), .branch = hidden};
  finish_config(config, kOrigins, source);
  return config;
}

/// Whether the names are those of an encoder alone.
bool is_bare(const Tensors& theirs) {
  return theirs.count("embeddings.word_embeddings.weight") > 0;
}

/// The names of a masked language model, whatever the file holds and however old it is.
Tensors with_usual_names(Tensors theirs, const std::string& source) {
  const bool bare = is_bare(theirs);
  Tensors named;
  for (auto& [given, tensor] : theirs) {
    std::string name = bare ? kBertPrefix + given : given;
    for (const auto& [old, usual] : {std::pair{".gamma", ".weight"}, std::pair{".beta", ".bias"}}) {
      if (name.ends_with(old)) name.replace(name.size() - std::string_view(old).size(), std::string::npos, usual);
    }
    if (name.ends_with("embeddings.position_ids")) continue;
    if (!named.emplace(name, std::move(tensor)).second) {
      throw UserError(fmt::format("{}: tensor '{}' stands there under another name, '{}', too", source, given, name));
    }
  }
  return named;
}

/// The head for next sentences and, in a language model, the pooler that it alone reads.
void drop_next_sentences(Tensors& theirs, bool mlm, std::vector<std::string>& notes) {
  const auto dropped = std::erase_if(theirs, [&](const auto& item) {
    return item.first.starts_with("cls.seq_relationship.") || (mlm && item.first.starts_with("bert.pooler."));
  });
  if (dropped > 0) notes.emplace_back("the head that tells whether one sentence follows another");
}

/// Names of the classes by id2label; none where one is missing or made up by their code.
std::vector<std::string> labels(const JsonSettings& settings, int64_t n_labels) {
  const auto& names = settings.at("id2label");
  std::vector<std::string> list;
  for (int64_t id = 0; id < n_labels && names.is_object(); ++id) {
    const auto key = std::to_string(id);
    if (!names.contains(key) || !names[key].is_string()) return {};
    list.push_back(names[key].get<std::string>());
    if (list.back() == "LABEL_" + key) return {};
  }
  return n_labels > 1 ? list : std::vector<std::string>{};
}

nlohmann::ordered_json bert_settings(const ModelConfig& config) {
  const bool known = config.activation == Activation::gelu || config.activation == Activation::relu;
  const nlohmann::ordered_json padding =
      config.padding_id ? nlohmann::ordered_json(*config.padding_id) : nlohmann::ordered_json();
  return {{"architectures", {config.mlm_head.transform ? "BertForMaskedLM" : "BertModel"}},
          {"model_type", "bert"},
          {"vocab_size", config.vocab_size},
          {"max_position_embeddings", *config.n_positions},
          {"type_vocab_size", std::max<int64_t>(1, config.n_token_types)},
          {"hidden_size", config.d_model},
          {"num_hidden_layers", config.n_layer},
          {"num_attention_heads", config.n_head},
          {"intermediate_size", *config.d_ff},
          {"hidden_act", known ? name_of(config.activation) : "gelu_new"},
          {"layer_norm_eps", config.norm_eps},
          {"initializer_range", config.init_std},
          {"tie_word_embeddings", config.tied_head},
          {"hidden_dropout_prob", config.dropout.branch},
          {"attention_probs_dropout_prob", config.dropout.attention},
          {"pad_token_id", padding}};
}

}  // namespace

bool is_bert_config(const json& settings) {
  return settings.is_object() && settings.contains("model_type") && settings["model_type"] == "bert";
}

ImportedModel import_bert(const json& settings, Tensors theirs, const ImportSource& given) {
  const auto source = is_bare(theirs) ? with_prefix(given, kBertPrefix) : given;
  ImportedModel result;
  theirs = with_usual_names(std::move(theirs), given.weights);
  const bool mlm = theirs.count("cls.predictions.transform.dense.weight") > 0;
  result.config = model_config(settings, mlm, source.settings);
  require_layers(result.config.n_layer, theirs, "num_hidden_layers", given);
  drop_next_sentences(theirs, mlm, result.notes);
  if (result.config.tied_head) merge_tied_head(theirs, kBertEmbedding, kBertDecoder, source.weights);
  if (mlm && result.config.tied_head) merge_tied_head(theirs, kBertHeadBias, kBertDecoderBias, source.weights);
  if (auto decoder = theirs.extract(kBertDecoderBias); !decoder.empty()) {
    theirs[kBertHeadBias] = decoder.mapped();  // of an untied head it is the one that is computed with
  }
  const auto classes = theirs.find(kBertClassifier);
  const bool classifies = classes != theirs.end() && classes->second.dim() == 2;
  if (theirs.count(kBertPooler) > 0) {
    const JsonSettings s(settings, source.settings);
    result.head = SequenceHead{.config = {.hidden_width = {}}, .labels = {}, .tensors = {}};
    result.head->config.dropout = s.number("classifier_dropout", result.config.dropout.branch);
    check_head(result.head->config, kOrigins, source.settings);
    if (classifies) {
      result.head->config.n_labels = classes->second.size(0);
      result.head->labels = labels(s, result.head->config.n_labels);
    }
  }
  result.map = BertMapBuilder(result.config).build(result.head, classifies);
  take_imported(result, our_tensors(result.map, theirs, source.weights));
  return result;
}

ExportedModel export_bert(const ModelConfig& trained, const Tensors& ours) {
  const ModelConfig config = as_computed_now(trained, ours);
  const auto settings = bert_settings(config);
  ExportedModel result{.settings = settings.dump(2) + "\n", .tensors = {}, .notes = {}};
  const auto read = model_config(settings, config.mlm_head.transform, "the written settings");
  result.notes = require_expressed(config, read, "a BERT");
  result.tensors = their_tensors(BertMapBuilder(config).build(std::nullopt, false), ours);
  if (!config.tied_head) result.tensors[kBertDecoderBias] = result.tensors.at(kBertHeadBias).clone();
  if (config.mlm_head.transform) return result;
  result.notes.emplace_back("written as BertModel, without the output matrix, which is the token embedding");
  Tensors bare;
  for (const auto& [name, tensor] : result.tensors) {
    bare.emplace(name.substr(std::string_view(kBertPrefix).size()), tensor);
  }
  result.tensors = std::move(bare);
  return result;
}

}  // namespace skipless
