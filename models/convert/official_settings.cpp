#include "models/convert/official_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "configs/error.h"
#include "models/blocks/v_skipinit.h"
#include "models/convert/block_parts.h"
#include "models/convert/checked_config.h"
#include "models/convert/json_settings.h"

namespace skipless {

namespace {

using nlohmann::json;

/// A value that follows another setting unless it is given.
json follows(const std::string& key) {
  return "${model." + key + "}";
}

/// Their default.yaml (PAPER.md, section 1), as settings and not as text.
json default_settings() {
  return {{"name", "gpt2"},
          {"context_length", 128},
          {"n_embd", 768},
          {"n_layer", 12},
          {"n_head", 12},
          {"norm_type", "rmsnorm"},
          {"norm_position", "pre"},
          {"qk_norm_type", "none"},
          {"dot_norm_type", "none"},
          {"resid_pdrop", 0},
          {"attn_pdrop", 0},
          {"embd_pdrop", 0},
          {"attn_block_resid_gain", 1},
          {"attn_block_skip_gain", 1},
          {"mlp_block_resid_gain", 1},
          {"mlp_block_skip_gain", 1},
          {"attn_mat_resid_gain", 1},
          {"attn_mat_skip_gain", 0},
          {"value_resid_gain", 1},
          {"value_skip_gain", nullptr},
          {"first_layer_value_resid_gain", nullptr},
          {"proj_resid_gain", follows("value_resid_gain")},
          {"proj_skip_gain", nullptr},
          {"last_layer_proj_resid_gain", nullptr},
          {"centre_attn", false},
          {"centre_attn_gain", follows("attn_mat_resid_gain")},
          {"trainable_attn_block_gains", false},
          {"trainable_mlp_block_gains", false},
          {"trainable_attn_mat_gains", false},
          {"trainable_value_gains", false},
          {"trainable_proj_gains", false},
          {"initializer_range", 0.02},
          {"val_proj_init_std", nullptr},
          {"query_init_std", nullptr},
          {"key_init_std", nullptr},
          {"val_init_type", "normal"},
          {"proj_init_type", follows("val_init_type")},
          {"tie_valproj_init", nullptr},
          {"mlp_width_mult", 4},
          {"activation_function", "leaky_relu"},
          {"lrelu_neg_slope", 0},
          {"mlp_proj_init_std", nullptr},
          {"parallel_layers", false}};
}

/// What each of their `model=` groups changes.
json group_settings(const std::string& group, const std::string& source) {
  const json skipless = {{"attn_block_skip_gain", 0},
                         {"mlp_block_resid_gain", 0.1},
                         {"attn_mat_skip_gain", 1},
                         {"value_resid_gain", 0},
                         {"value_skip_gain", 1},
                         {"first_layer_value_resid_gain", 1},
                         {"proj_skip_gain", 1},
                         {"centre_attn", true},
                         {"trainable_attn_block_gains", true},
                         {"trainable_mlp_block_gains", true},
                         {"trainable_attn_mat_gains", true},
                         {"trainable_value_gains", true},
                         {"trainable_proj_gains", true},
                         {"query_init_std", 0},
                         {"val_init_type", "id"}};
  if (group == "default") return json::object();
  if (group == "default-parallel") return {{"attn_block_skip_gain", 0}, {"parallel_layers", true}};
  if (group == "skipless") return skipless;
  if (group == "skipless-parallel") {
    json parallel = skipless;
    parallel.update({{"mlp_block_skip_gain", 0}, {"parallel_layers", true}});
    return parallel;
  }
  if (group == "op") {
    return {{"mlp_block_resid_gain", 0.2},
            {"attn_block_resid_gain", follows("mlp_block_resid_gain")},
            {"norm_type", "none"},
            {"qk_norm_type", "rmsnorm"}};
  }
  throw UserError(
      fmt::format("{}: overrides: model={} is not one of default, default-parallel, skipless, "
                  "skipless-parallel, op",
                  source, group));
}

/// The value of "key=value", as YAML's plain scalars.
json scalar(const std::string& text) {
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  const json number = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return number.is_number() ? number : json(text);
}

void check_known(const json& defaults, const std::string& key, const std::string& where, const std::string& source) {
  if (!defaults.contains(key)) {
    throw UserError(fmt::format("{}: {}: '{}' is not a setting of the authors' models", source, where, key));
  }
}

void apply_overrides(const json& overrides, json& settings, const std::string& source) {
  if (!overrides.is_array()) throw UserError(source + ": overrides is not a list");
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& item : overrides) {
    const std::string text = item.is_string() ? item.get<std::string>() : "";
    const auto equals = text.find('=');
    if (equals == text.npos) {
      throw UserError(fmt::format("{}: overrides: {} is not of the form key=value", source, item.dump()));
    }
    pairs.emplace_back(text.substr(text.find_first_not_of('+'), equals - text.find_first_not_of('+')),
                       text.substr(equals + 1));
  }
  // The group first, wherever it stands: hydra applies single values after it.
  for (const auto& [key, value] : pairs) {
    if (key == "model") settings.update(group_settings(value, source));
  }
  const json defaults = default_settings();
  for (const auto& [key, value] : pairs) {
    constexpr std::string_view kPrefix = "model.";
    if (key.rfind(kPrefix, 0) != 0) continue;  // other groups: training, data
    const auto name = key.substr(kPrefix.size());
    check_known(defaults, name, "overrides", source);
    settings[name] = scalar(value);
  }
}

void interpolate(json& settings, const std::string& source) {
  for (auto& [key, value] : settings.items()) {
    // As long as the longest chain of theirs could be, so that two values that follow each other end in an error.
    for (int i = 0; i < 4 && value.is_string() && value.get_ref<const std::string&>().rfind("${model.", 0) == 0; ++i) {
      const auto& text = value.get_ref<const std::string&>();
      const auto target = text.substr(8, text.size() - 9);
      if (!settings.contains(target)) {
        throw UserError(fmt::format("{}: {} follows '{}', which is not a setting", source, key, target));
      }
      value = json(settings[target]);
    }
  }
}

/// Typed reads of composed settings.
class Settings {
 public:
  Settings(const json& settings, const std::string& source) : settings_(settings), source_(source) {}

  double number(const std::string& key) const {
    const auto value = optional_number(key);
    if (!value) wrong(key, "a number");
    return *value;
  }
  std::optional<double> optional_number(const std::string& key) const {
    const auto& value = settings_.at(key);
    if (value.is_null()) return std::nullopt;
    if (!value.is_number()) wrong(key, "a number or null");
    return value.get<double>();
  }
  int64_t count(const std::string& key) const { return JsonSettings(settings_, source_).count(key.c_str()); }
  bool flag(const std::string& key) const {
    if (!settings_.at(key).is_boolean()) wrong(key, "true or false");
    return settings_.at(key).get<bool>();
  }
  bool is_null(const std::string& key) const { return settings_.at(key).is_null(); }

  template <class Value, std::size_t N>
  Value choice(const std::string& key, const std::array<std::pair<std::string_view, Value>, N>& table) const {
    const auto& value = settings_.at(key);
    std::vector<std::string_view> names;
    for (const auto& [name, meaning] : table) {
      if (value.is_string() && value.get_ref<const std::string&>() == name) return meaning;
      names.push_back(name);
    }
    wrong(key, fmt::format("one of {}", fmt::join(names, ", ")));
  }

  [[noreturn]] void wrong(const std::string& key, const std::string& allowed) const {
    throw UserError(fmt::format("{}: {} is {}, which is not supported; allowed: {}", source_, key,
                                settings_.at(key).dump(), allowed));
  }

 private:
  const json& settings_;
  const std::string& source_;
};

constexpr KeyOrigin kOrigins[] = {
    {"model.context_length", "context_length"},     {"model.norm_eps", "layer_norm_epsilon"},
    {"model.final_norm_eps", "layer_norm_epsilon"}, {"model.leaky_slope", "lrelu_neg_slope"},
    {"model.init_std", "initializer_range"},        {"model.dropout.embedding", "embd_pdrop"},
    {"model.dropout.attention", "attn_pdrop"},      {"model.dropout.branch", "resid_pdrop"}};

constexpr std::array<std::pair<std::string_view, NormKind>, 3> kNorms{
    {{"rmsnorm", NormKind::rms_norm}, {"ln", NormKind::layer_norm}, {"none", NormKind::none}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kQkNorms{{{"none", false}, {"rmsnorm", true}}};
/// Their soft-cap is 30*tanh(S/30).
constexpr std::array<std::pair<std::string_view, double>, 2> kDotNorms{{{"none", 0.0}, {"tanh", 30.0}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kNormPositions{{{"pre", false}, {"post", true}}};
constexpr std::array<std::pair<std::string_view, WeightInit>, 3> kInits{
    {{"normal", WeightInit::normal}, {"id", WeightInit::identity}, {"orth", WeightInit::orthogonal}}};
constexpr std::array<std::pair<std::string_view, Activation>, 4> kActivations{{{"leaky_relu", Activation::leaky_relu},
                                                                               {"relu", Activation::relu},
                                                                               {"gelu", Activation::gelu},
                                                                               {"gelu_new", Activation::gelu_tanh}}};
constexpr std::array<std::pair<std::string_view, TieInit>, 2> kTies{
    {{"last_block", TieInit::last_block}, {"all_blocks", TieInit::all_blocks}}};

void set(GainConfig& gain, double init, bool trainable) {
  gain.init = init;
  gain.trainable = trainable;
}

/// Their rule for a value or output projection: no matrix at all where it would be the identity for ever, a plain
/// matrix without a skip gain, else skip_gain*W_init + resid_gain*W.
ProjectionConfig projection(std::optional<double> skip_gain, double resid_gain, WeightInit init, bool trainable) {
  ProjectionConfig config;
  config.init.kind = init;
  if (skip_gain == 1.0 && resid_gain == 0.0 && init == WeightInit::identity) {
    config.kind = ProjectionKind::identity;
    config.init = {};
  } else if (skip_gain) {
    config.kind = ProjectionKind::gained;
    set(config.alpha, *skip_gain, trainable);
    set(config.beta, resid_gain, trainable);
  } else {
    config.kind = ProjectionKind::plain;
  }
  return config;
}

bool equal(const ProjectionConfig& a, const ProjectionConfig& b) {
  return a.kind == b.kind && a.init.kind == b.init.kind && a.init.std == b.init.std && a.alpha.init == b.alpha.init &&
         a.beta.init == b.beta.init && a.alpha.trainable == b.alpha.trainable && a.beta.trainable == b.beta.trainable;
}

/// `exception`, or "no exception" where it says the same.
ProjectionConfig exception_to(const ProjectionConfig& usual, const ProjectionConfig& exception) {
  return equal(usual, exception) ? ProjectionConfig{.kind = ProjectionKind::same} : exception;
}

void set_projections(const Settings& s, AttentionConfig& attention) {
  const auto value_init = s.choice("val_init_type", kInits);
  const auto projection_init = s.choice("proj_init_type", kInits);
  const auto value = [&](double resid_gain) {
    return projection(s.optional_number("value_skip_gain"), resid_gain, value_init, s.flag("trainable_value_gains"));
  };
  const auto output = [&](double resid_gain) {
    return projection(s.optional_number("proj_skip_gain"), resid_gain, projection_init, s.flag("trainable_proj_gains"));
  };
  const double value_gain = s.number("value_resid_gain"), output_gain = s.number("proj_resid_gain");
  attention.value = value(value_gain);
  attention.first_layer_value =
      exception_to(attention.value, value(s.optional_number("first_layer_value_resid_gain").value_or(value_gain)));
  attention.projection = output(output_gain);
  attention.last_layer_projection =
      exception_to(attention.projection, output(s.optional_number("last_layer_proj_resid_gain").value_or(output_gain)));
  attention.tie_init = s.is_null("tie_valproj_init") ? TieInit::none : s.choice("tie_valproj_init", kTies);
}

void set_shape(const Settings& s, ShapedAttentionConfig& shape) {
  const bool trainable = s.flag("trainable_attn_mat_gains"), centred = s.flag("centre_attn");
  const double gamma = s.number("centre_attn_gain");
  set(shape.beta, s.number("attn_mat_resid_gain"), trainable);
  // Without centring their code leaves out alpha*I as well.
  set(shape.alpha, centred ? s.number("attn_mat_skip_gain") : 0, centred && trainable);
  set(shape.gamma, centred ? gamma : 0, centred && trainable && gamma != 0);
}

/// The variant by what is computed. pre_ln is the general sequential block, and takes whatever has no name of its own.
std::string block_name(const Settings& s) {
  const bool centred = s.flag("centre_attn");
  const bool attention_skip = s.number("attn_block_skip_gain") != 0;
  if (s.flag("parallel_layers")) {
    const bool skip = s.number("mlp_block_skip_gain") != 0;
    if (s.choice("norm_position", kNormPositions)) s.wrong("norm_position", "pre, where parallel_layers is true");
    return skip || !centred ? "parallel" : "sas_p";
  }
  if (s.choice("norm_position", kNormPositions)) return "post_ln";
  if (!centred || attention_skip) {
    const bool no_norms = s.choice("norm_type", kNorms) == NormKind::none;
    return no_norms && s.choice("qk_norm_type", kQkNorms) ? "op" : "pre_ln";
  }
  return s.is_null("value_skip_gain") ? "v_skipinit" : "sas";
}

void set_block_gains(const Settings& s, const BlockParts& parts) {
  const bool parallel = s.flag("parallel_layers");
  const bool attention_gains = s.flag("trainable_attn_block_gains"), mlp_gains = s.flag("trainable_mlp_block_gains");
  set(*parts.beta_sa, s.number("attn_block_resid_gain"), attention_gains);
  set(*parts.beta_ff, s.number("mlp_block_resid_gain"), mlp_gains);
  // A skip whose gain begins at 0 is not in their graph, whatever the gain becomes.
  const auto set_skip = [](GainConfig* gain, double init, bool trainable) {
    if (gain != nullptr) set(*gain, init, trainable && init != 0);
  };
  set_skip(parts.alpha_sa, s.number("attn_block_skip_gain"), attention_gains);
  set_skip(parts.alpha_ff, s.number("mlp_block_skip_gain"), mlp_gains);
  set_skip(parts.alpha_comb, s.number("mlp_block_skip_gain"), mlp_gains && !parallel);
}

void note_what_is_left_out(const Settings& s, std::vector<std::string>& notes) {
  for (const char* key : {"val_proj_init_std", "key_init_std", "mlp_proj_init_std"}) {
    if (const auto std = s.optional_number(key)) {
      notes.push_back(
          fmt::format("{} {}: of a new model's initialisation, which the imported weights replace", key, *std));
    }
  }
}

template <class Value, std::size_t N>
std::string_view name_in(const std::array<std::pair<std::string_view, Value>, N>& table, const Value& wanted) {
  for (const auto& [name, value] : table) {
    if (value == wanted) return name;
  }
  return table.front().first;
}

/// Where no row is wanted, the setting stays null.
json tie_name(TieInit tie) {
  return tie == TieInit::none ? json() : json(name_in(kTies, tie));
}

/// What their settings say of one of the two projections, and of its exception: the reverse of projection().
void write_projection(json& s, const std::string& name, const std::string& exception_key, const ProjectionConfig& usual,
                      const ProjectionConfig& exception) {
  const auto resid_gain = [](const ProjectionConfig& config) {
    return config.kind == ProjectionKind::identity ? 0.0 : *config.beta.init;
  };
  const bool excepted = exception.kind != ProjectionKind::same;
  const ProjectionConfig& gained = excepted && usual.kind == ProjectionKind::identity ? exception : usual;
  s[name + "_resid_gain"] = resid_gain(usual);
  s[name + "_skip_gain"] = usual.kind == ProjectionKind::plain ? json() : json(*gained.alpha.init);
  s[exception_key] = excepted ? json(resid_gain(exception)) : json();
  s[name == "value" ? "val_init_type" : "proj_init_type"] =
      usual.kind == ProjectionKind::identity ? "id" : name_in(kInits, usual.init.kind);
  s[name == "value" ? "trainable_value_gains" : "trainable_proj_gains"] = *gained.alpha.trainable;
}

void write_shape(json& s, const ShapedAttentionConfig& shape) {
  s["attn_mat_resid_gain"] = *shape.beta.init;
  s["attn_mat_skip_gain"] = *shape.alpha.init;
  s["centre_attn_gain"] = *shape.gamma.init;
  s["centre_attn"] = !shape.alpha.fixed_at(0) || !shape.gamma.fixed_at(0);
  s["trainable_attn_mat_gains"] = *shape.beta.trainable;
}

/// 0: the variant has no such skip.
double skip_gain(const GainConfig* gain) {
  return gain == nullptr ? 0.0 : *gain->init;
}

}  // namespace

bool has_official_settings(const json& file) {
  return file.contains("norm_type") && file.contains("attn_block_resid_gain");
}

json compose_official_settings(const json& file, const std::string& source) {
  json settings = default_settings();
  if (file.contains("overrides")) apply_overrides(file["overrides"], settings, source);
  if (file.contains("model_cfg")) {
    if (!file["model_cfg"].is_object()) throw UserError(source + ": model_cfg is not an object");
    const json defaults = default_settings();
    for (const auto& [key, value] : file["model_cfg"].items()) check_known(defaults, key, "model_cfg", source);
    settings.update(file["model_cfg"]);
  } else if (has_official_settings(file)) {
    for (auto& [key, value] : settings.items()) {
      if (file.contains(key)) value = file[key];
    }
  }
  interpolate(settings, source);
  return settings;
}

ModelConfig official_model_config(const json& settings, const OfficialSizes& sizes, double layer_norm_eps,
                                  const std::string& source, std::vector<std::string>& notes) {
  const Settings s(settings, source);
  if (settings.at("name") != "gpt2") s.wrong("name", "gpt2");

  ModelConfig config;
  config.n_layer = sizes.n_layer;
  config.d_model = sizes.d_model;
  config.n_head = sizes.n_head;
  config.d_ff = sizes.d_ff;
  config.vocab_size = sizes.vocab_size;
  config.n_positions = sizes.n_positions;
  config.context_length = std::min(s.count("context_length"), sizes.n_positions);
  config.norm = s.choice("norm_type", kNorms);
  config.norm_eps = layer_norm_eps;
  config.final_norm = NormKind::layer_norm;
  config.final_norm_eps = layer_norm_eps;
  config.qk_norm = s.choice("qk_norm_type", kQkNorms);
  config.soft_cap = s.choice("dot_norm_type", kDotNorms);
  config.init_std = s.number("initializer_range");
  config.dropout = {
      .embedding = s.number("embd_pdrop"), .attention = s.number("attn_pdrop"), .branch = s.number("resid_pdrop")};
  config.activation = s.choice("activation_function", kActivations);
  if (config.activation == Activation::leaky_relu) {
    config.leaky_slope = s.number("lrelu_neg_slope");
    if (config.leaky_slope == 0) config.activation = Activation::relu;
  }
  if (config.activation == Activation::relu) config.leaky_slope = ModelConfig{}.leaky_slope;

  config.block = block_name(s);
  const auto parts = block_parts(config);
  set_block_gains(s, parts);
  set_shape(s, parts.attention->shape);
  set_projections(s, *parts.attention);
  if (config.block == "v_skipinit" && parts.attention->shape.gamma.fixed_at(0)) {
    static_cast<VSkipInitBlockImpl::Config&>(config.blocks[config.block]).form = VSkipInitBlockImpl::Config::Form::eq4;
  }
  parts.attention->query_init.std = s.optional_number("query_init_std").value_or(config.init_std);
  note_what_is_left_out(s, notes);
  finish_config(config, kOrigins, source);
  return config;
}

nlohmann::ordered_json official_file_settings(const ModelConfig& model) {
  ModelConfig config = model;
  static_cast<TransformerConfig&>(config) = config.block_config().settings(config);
  const auto parts = block_parts(config);
  json s = default_settings();
  s["context_length"] = config.context_length;
  s["n_embd"] = config.d_model;
  s["n_layer"] = config.n_layer;
  s["n_head"] = config.n_head;
  s["mlp_width_mult"] = static_cast<double>(*config.d_ff) / static_cast<double>(config.d_model);
  s["norm_type"] = name_in(kNorms, config.norm);
  s["norm_position"] = name_in(kNormPositions, config.block == "post_ln");
  s["qk_norm_type"] = name_in(kQkNorms, config.qk_norm);
  s["dot_norm_type"] = name_in(kDotNorms, config.soft_cap);
  s["initializer_range"] = config.init_std;
  // Their relu is a leaky one of slope 0.
  const bool relu = config.activation == Activation::relu;
  s["activation_function"] = name_in(kActivations, relu ? Activation::leaky_relu : config.activation);
  s["lrelu_neg_slope"] = relu ? 0.0 : config.leaky_slope;
  s["parallel_layers"] = parts.parallel;
  s["attn_block_resid_gain"] = *parts.beta_sa->init;
  s["attn_block_skip_gain"] = skip_gain(parts.alpha_sa);
  s["mlp_block_resid_gain"] = *parts.beta_ff->init;
  s["mlp_block_skip_gain"] = skip_gain(parts.parallel ? parts.alpha_comb : parts.alpha_ff);
  s["trainable_attn_block_gains"] = *parts.beta_sa->trainable;
  s["trainable_mlp_block_gains"] = *parts.beta_ff->trainable;
  const auto& attention = *parts.attention;
  write_shape(s, attention.shape);
  write_projection(s, "value", "first_layer_value_resid_gain", attention.value, attention.first_layer_value);
  write_projection(s, "proj", "last_layer_proj_resid_gain", attention.projection, attention.last_layer_projection);
  s["tie_valproj_init"] = tie_name(attention.tie_init);
  s["query_init_std"] = attention.query_init.std.value_or(config.init_std);
  s["embd_pdrop"] = config.dropout.embedding;
  s["attn_pdrop"] = config.dropout.attention;
  s["resid_pdrop"] = config.dropout.branch;

  nlohmann::ordered_json file = {{"model_type", "gpt2"},
                                 {"vocab_size", config.vocab_size},
                                 {"n_positions", *config.n_positions},
                                 {"layer_norm_epsilon", config.norm_eps},
                                 {"tie_word_embeddings", true}};
  for (const auto& [key, value] : s.items()) file[key] = value;
  return file;
}

}  // namespace skipless
