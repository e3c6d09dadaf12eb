#include "models/convert/official.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "configs/error.h"
#include "models/convert/block_parts.h"
#include "models/convert/expressed.h"
#include "models/convert/json_settings.h"
#include "models/convert/official_settings.h"

namespace skipless {

namespace {

constexpr const char* kEmbedding = "transformer.wte.weight";
constexpr const char* kConstants = "const/";

/// The map of one model, built tensor by tensor.
class OfficialMapBuilder {
 public:
  explicit OfficialMapBuilder(const ModelConfig& config)
      : config_(config), parts_(block_parts(config_)), d_(config_.d_model), head_count_(config_.n_head) {
    static_cast<TransformerConfig&>(config_) = config_.block_config().settings(config_);
  }

  TensorMap build() {
    add(kEmbedding, {config_.vocab_size, d_}, "embedding.tokens");
    if (config_.positions == PositionKind::learned) {
      add("transformer.wpe.weight", {*config_.n_positions, d_}, "embedding.positions");
    }
    for (int64_t layer = 0; layer < config_.n_layer; ++layer) add_block(layer);
    add_norm("transformer.ln_f", config_.final_norm, "final_norm");
    if (!config_.tied_head) add("lm_head.weight", {config_.vocab_size, d_}, "head");
    return std::move(map_);
  }

 private:
  TheirTensor& add(const std::string& name, std::vector<int64_t> shape, const std::string& ours,
                   Layout layout = Layout::same) {
    auto& entry = map_.emplace_back(TheirTensor{.name = name, .shape = std::move(shape)});
    if (!ours.empty()) entry.pieces.push_back({.ours = ours, .layout = layout, .length = entry.shape.back()});
    return entry;
  }

  void add_block(int64_t layer) {
    const auto theirs = fmt::format("transformer.h.{}.", layer);
    const auto ours = fmt::format("block_{}.", layer);
    add_gain(theirs + "attn_block_resid_gain", parts_.beta_sa, ours + "beta_sa");
    add_skip_gain(theirs + "attn_block_skip_gain", parts_.alpha_sa, ours + "alpha_sa");
    add_gain(theirs + "mlp_block_resid_gain", parts_.beta_ff, ours + "beta_ff");
    if (parts_.alpha_comb != nullptr) {
      add_skip_gain(theirs + "mlp_block_skip_gain", parts_.alpha_comb, ours + "alpha_comb");
    } else {
      add_skip_gain(theirs + "mlp_block_skip_gain", parts_.alpha_ff, ours + "alpha_ff");
    }
    const auto first_norm = config_.norm == NormKind::none && layer == 0 ? NormKind::layer_norm : config_.norm;
    add_norm(theirs + "ln_1", first_norm, ours + (parts_.parallel ? "norm" : "norm_1"));
    add_norm(theirs + "ln_2", config_.norm, parts_.parallel ? "" : ours + "norm_2");
    add_attention(theirs + "attn.", ours + "attention.", layer);
    const bool bias = config_.bias.feed_forward;
    const int64_t d_ff = *config_.d_ff;
    add(theirs + "mlp.c_fc.weight", {d_, d_ff}, ours + "feed_forward.w_1", Layout::transposed);
    add_bias(theirs + "mlp.c_fc.bias", d_ff, bias ? ours + "feed_forward.b_1" : "");
    add(theirs + "mlp.c_proj.weight", {d_ff, d_}, ours + "feed_forward.w_2", Layout::transposed);
    add_bias(theirs + "mlp.c_proj.bias", d_, bias ? ours + "feed_forward.b_2" : "");
  }

  void add_attention(const std::string& theirs, const std::string& ours, int64_t layer) {
    auto& attention = *parts_.attention;
    // Where the gains of I and C are both fixed at 0 their code has centring off, and reads neither gain.
    const bool centred = !attention.shape.alpha.fixed_at(0) || !attention.shape.gamma.fixed_at(0);
    add_head_gain(theirs + "attn_mat_resid_gain", attention.shape.beta, ours + "shape.beta", true);
    add_head_gain(theirs + "attn_mat_skip_gain", attention.shape.alpha, ours + "shape.alpha", centred);
    add_head_gain(theirs + "centre_attn_gain", attention.shape.gamma, ours + "shape.gamma", centred);
    add(theirs + "qk_attn.weight", {d_, 2 * d_}, ours + "w_qk", Layout::transposed);
    add_bias(theirs + "qk_attn.bias", 2 * d_, config_.bias.query_key ? ours + "b_qk" : "");
    add_projection(theirs + "v_attn.", attention.value_of(layer), config_.bias.value, ours + "value.");
    add_projection(theirs + "c_proj.", attention.projection_of(layer, config_.n_layer), config_.bias.projection,
                   ours + "projection.");
    if (config_.qk_norm) {
      add(theirs + "q_norm.scale", {config_.head_size()}, ours + "q_norm.scale");
      add(theirs + "k_norm.scale", {config_.head_size()}, ours + "k_norm.scale");
    }
  }

  void add_projection(const std::string& theirs, const ProjectionConfig& projection, bool bias,
                      const std::string& ours) {
    if (projection.kind == ProjectionKind::identity) return;
    add_bias(theirs + "bias", d_, bias ? ours + "bias" : "");
    if (projection.kind == ProjectionKind::gained) {
      add_gain(theirs + "resid_gain", &projection.beta, ours + "beta");
      add_gain(theirs + "skip_gain", &projection.alpha, ours + "alpha");
      add(kConstants + theirs + "id", {d_, d_}, ours + "w_init", Layout::transposed).is_parameter = false;
    }
    add(theirs + "weight", {d_, d_}, ours + "weight", Layout::transposed);
  }

  /// `ours` empty: theirs alone, and never read.
  void add_norm(const std::string& theirs, NormKind kind, const std::string& ours) {
    const auto add_part = [&](const char* part, double fill) {
      add(theirs + part, {d_}, ours.empty() ? "" : ours + part).fill = fill;
    };
    if (kind == NormKind::rms_norm) add_part(".scale", 1);
    if (kind == NormKind::layer_norm) {
      add_part(".weight", 1);
      add_part(".bias", 0);
    }
  }

  /// `ours` empty: one of their frozen zero biases.
  void add_bias(const std::string& theirs, int64_t size, const std::string& ours) {
    auto& entry = add(theirs, {size}, ours);
    if (ours.empty()) entry.required = 0;
  }

  TheirTensor& add_gain(const std::string& theirs, const GainConfig* gain, const std::string& ours) {
    auto& entry = add(theirs, {1}, ours + ".value");
    require_constant(entry, *gain);
    return entry;
  }

  /// Their code never reads the gain of a skip that it leaves out; neither does ours have it, or it is a constant 0.
  void add_skip_gain(const std::string& theirs, const GainConfig* gain, const std::string& ours) {
    if (gain == nullptr || gain->fixed_at(0)) {
      add(theirs, {1}, "");
    } else {
      add_gain(theirs, gain, ours);
    }
  }

  void add_head_gain(const std::string& theirs, const HeadGainConfig& gain, const std::string& ours, bool used) {
    auto& entry = add(theirs, {1, head_count_, 1, 1}, used ? ours + ".value" : "", Layout::per_head);
    if (used) {
      require_constant(entry, gain);
    } else {
      entry.fill = 0;
    }
  }

  /// A gain fixed at 0 or 1 is not computed with (gain.h): a file may hold nothing else.
  static void require_constant(TheirTensor& entry, const GainConfig& gain) {
    for (const double value : {0.0, 1.0}) {
      if (gain.fixed_at(value)) entry.required = value;
    }
  }

  ModelConfig config_;
  BlockParts parts_;
  int64_t d_, head_count_;
  TensorMap map_;
};

void require_expressible(const ModelConfig& config) {
  const auto refuse = [](const std::string& what) {
    throw UserError("the authors' code cannot express this model: " + what);
  };
  if (config.embedding_norm != NormKind::none) refuse("embedding_norm is not none");
  if (config.n_token_types > 0) refuse("it has token types");
  if (config.mlm_head.transform || config.mlm_head.bias) refuse("mlm_head has a transform or a bias");
  if (config.positions != PositionKind::learned) refuse("positions are not learned");
  if (config.final_norm != NormKind::layer_norm) refuse("final_norm is not layer_norm");
  if (!config.tied_head) refuse("tied_head is false");
  if (config.activation == Activation::geglu) refuse("activation is geglu");
  auto copy = config;
  auto& attention = *block_parts(copy).attention;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    const bool value = attention.value_of(layer).kind == ProjectionKind::identity;
    const bool output = attention.projection_of(layer, config.n_layer).kind == ProjectionKind::identity;
    if ((value && config.bias.value) || (output && config.bias.projection)) refuse("an identity projection has a bias");
  }
}

/// A dimension of one of their tensors; UserError naming the tensor where it is missing or of another rank.
int64_t size_of(const Tensors& theirs, const std::string& name, int64_t rank, int64_t dimension,
                const std::string& source) {
  const auto found = theirs.find(name);
  if (found == theirs.end()) throw UserError(fmt::format("{}: no tensor '{}'", source, name));
  if (found->second.dim() != rank || found->second.numel() == 0) {
    throw UserError(fmt::format("{}: tensor '{}' has the shape {}, not {} dimensions", source, name,
                                shape_text(found->second.sizes()), rank));
  }
  return found->second.size(dimension);
}

OfficialSizes sizes_of(const Tensors& theirs, const std::string& source) {
  OfficialSizes sizes;
  const std::string first = "transformer.h.0.";
  sizes.vocab_size = size_of(theirs, kEmbedding, 2, 0, source);
  sizes.d_model = size_of(theirs, kEmbedding, 2, 1, source);
  sizes.n_positions = size_of(theirs, "transformer.wpe.weight", 2, 0, source);
  sizes.d_ff = size_of(theirs, first + "mlp.c_fc.weight", 2, 1, source);
  sizes.n_head = size_of(theirs, first + "attn.attn_mat_resid_gain", 4, 1, source);
  size_of(theirs, first + "attn.qk_attn.weight", 2, 0, source);
  while (theirs.count(fmt::format("transformer.h.{}.attn.qk_attn.weight", sizes.n_layer)) > 0) ++sizes.n_layer;
  return sizes;
}

/// Sizes that the settings state must be those of the tensors.
void check_sizes(const nlohmann::json& stated, const OfficialSizes& sizes, const std::string& source) {
  const std::pair<const char*, int64_t> pairs[] = {
      {"n_layer", sizes.n_layer}, {"n_embd", sizes.d_model}, {"n_head", sizes.n_head}};
  for (const auto& [key, actual] : pairs) {
    if (stated.contains(key) && stated[key] != actual) {
      throw UserError(
          fmt::format("{}: {} is {}, but by the tensors it is {}", source, key, stated[key].dump(), actual));
    }
  }
}

double layer_norm_eps(const nlohmann::json& settings, const std::string& source) {
  constexpr double kDefault = 1e-5;
  if (!settings.contains("layer_norm_epsilon")) return kDefault;
  const auto& value = settings["layer_norm_epsilon"];
  if (!value.is_number()) throw UserError(source + ": layer_norm_epsilon is " + value.dump() + ", not a number");
  return value.get<double>();
}

/// Buffers that older versions of the library saved with a model.
void drop_mask_buffers(Tensors& theirs) {
  std::erase_if(theirs, [](const auto& item) {
    return item.first.ends_with(".attn.bias") || item.first.ends_with(".attn.masked_bias") ||
           item.first.ends_with(".attn.diag") || item.first.ends_with(".attn.uniform_causal_attn_mat");
  });
}

/// An identity W_init need not be in the file.
void add_identities(const TensorMap& map, const ModelConfig& config, Tensors& theirs, const std::string& source) {
  auto copy = config;
  const auto& attention = *block_parts(copy).attention;
  for (const auto& entry : map) {
    if (entry.is_parameter || theirs.count(entry.name) > 0) continue;
    const bool of_value = entry.name.ends_with("v_attn.id");
    const int64_t layer = std::stoll(entry.name.substr(entry.name.find(".h.") + 3));
    const auto init =
        of_value ? attention.value_of(layer).init.kind : attention.projection_of(layer, config.n_layer).init.kind;
    if (init != WeightInit::identity) {
      throw UserError(fmt::format("{}: no tensor '{}': the fixed W_init is random, and their checkpoints lack it",
                                  source, entry.name));
    }
    theirs.emplace(entry.name, at::eye(config.d_model));
  }
}

}  // namespace

bool is_official_config(const nlohmann::json& settings) {
  return settings.is_object() &&
         (settings.contains("model_cfg") || settings.contains("overrides") || has_official_settings(settings));
}

ImportedModel import_official(const nlohmann::json& settings, Tensors theirs, const ImportSource& source) {
  drop_mask_buffers(theirs);
  merge_tied_head(theirs, kEmbedding, "lm_head.weight", source.weights);
  const auto sizes = sizes_of(theirs, source.weights);
  const auto composed = compose_official_settings(settings, source.settings);
  check_sizes(settings.contains("model_cfg") ? settings["model_cfg"] : settings, sizes, source.settings);
  ImportedModel result;
  result.config =
      official_model_config(composed, sizes, layer_norm_eps(settings, source.settings), source.settings, result.notes);
  // Their blocks without the causal mask have the same names and settings. C is 1/T unless it says that C is masked
  // too.
  const auto family = JsonSettings(settings, source.settings).text("family", "");
  if (family.find("encoder") != family.npos) {
    result.config.kind = ModelKind::bert;
    result.config.centring_over = family.find("C = masked") != family.npos ? CentringOver::kept : CentringOver::all;
  }
  result.map = official_map(result.config);
  add_identities(result.map, result.config, theirs, source.weights);
  take_imported(result, our_tensors(result.map, theirs, source.weights));
  return result;
}

ExportedModel export_official(const ModelConfig& trained, const Tensors& ours) {
  const ModelConfig config = as_computed_now(trained, ours);
  const auto settings = official_file_settings(config);
  const OfficialSizes sizes{.n_layer = config.n_layer,
                            .d_model = config.d_model,
                            .n_head = config.n_head,
                            .d_ff = *config.d_ff,
                            .vocab_size = config.vocab_size,
                            .n_positions = *config.n_positions};
  const std::string source = "the written settings";
  std::vector<std::string> ignored;
  const auto read =
      official_model_config(compose_official_settings(settings, source), sizes, config.norm_eps, source, ignored);
  ExportedModel result{.settings = settings.dump(2) + "\n", .tensors = {}, .notes = {}};
  result.notes = require_expressed(config, read, "the authors' code");
  result.tensors = their_tensors(official_map(config), ours);
  // An identity is what their code makes by itself; it would refuse the name.
  std::erase_if(result.tensors, [](const auto& item) {
    return item.first.starts_with(kConstants) &&
           at::equal(item.second, at::eye(item.second.size(0), item.second.options()));
  });
  return result;
}

TensorMap official_map(const ModelConfig& config) {
  require_expressible(config);
  return OfficialMapBuilder(config).build();
}

int64_t official_parameter_count(const ModelConfig& config) {
  int64_t sum = 0;
  for (const auto& entry : OfficialMapBuilder(config).build()) {
    if (!entry.is_parameter) continue;
    sum += std::accumulate(entry.shape.begin(), entry.shape.end(), int64_t{1}, std::multiplies<>());
  }
  return sum;
}

}  // namespace skipless
