// Import of the authors' and of Hugging Face's checkpoints: names, layouts, settings, counts and refusals.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "configs/config_file.h"
#include "configs/error.h"
#include "models/block_variants.h"
#include "models/convert/block_parts.h"
#include "models/convert/gpt2.h"
#include "models/convert/official.h"
#include "models/convert/official_settings.h"

#include <catch2/catch.hpp>

#include "tests/models/foreign_model.h"
#include "tests/shared_folder.h"

namespace skipless {
namespace {

using namespace test;
using nlohmann::json;

constexpr OfficialSizes kSmall{.n_layer = 2, .d_model = 8, .n_head = 2, .d_ff = 20, .vocab_size = 11, .n_positions = 7};
constexpr double kEps = 1e-5;

json with_overrides(const std::vector<std::string>& overrides) {
  return {{"overrides", overrides}};
}

ModelConfig config_of(const std::vector<std::string>& overrides, const OfficialSizes& sizes = kSmall) {
  std::vector<std::string> notes;
  return official_model_config(compose_official_settings(with_overrides(overrides), "test"), sizes, kEps, "test",
                               notes);
}

Tensors official_file(const ModelConfig& config) {
  return their_tensors(official_map(config), random_state(config));
}

const std::vector<std::vector<std::string>> kOverrides = {
    {},
    {"model.norm_type=ln"},
    {"model.norm_type=none"},
    {"model.norm_position=post"},
    {"model.trainable_attn_block_gains=true", "model.trainable_mlp_block_gains=true"},
    {"model.attn_block_skip_gain=0"},
    {"model=default-parallel"},
    {"model=skipless"},
    {"model=skipless", "model.norm_type=none"},
    {"model=skipless", "model.first_layer_value_resid_gain=0"},
    {"model=skipless", "model.value_resid_gain=0.2"},
    {"model=skipless", "model.val_init_type=orth", "model.value_resid_gain=0.1"},
    {"model=skipless", "model.last_layer_proj_resid_gain=0.5"},
    {"model=skipless", "model.mlp_block_skip_gain=0"},
    {"model=skipless", "model.value_skip_gain=null", "model.proj_skip_gain=null", "model.attn_mat_resid_gain=0"},
    {"model=skipless-parallel"},
    {"model=op", "model.dot_norm_type=tanh"},
};

/// 2 layers of 8.
ModelConfig small_model() {
  ModelConfig config;
  config.n_layer = 2;
  config.d_model = 8;
  config.n_head = 2;
  config.d_ff = 20;
  config.vocab_size = 11;
  config.context_length = 7;
  return config;
}

TEST_CASE("The authors' count of parameters is what their run prints", "[convert]") {
  // PAPER.md, section 1: 18 x 768, 12 heads, vocabulary 50,000, 1,024 positions; and 72 layers of half the MLP.
  const auto count = [](const std::vector<std::string>& overrides, int64_t n_layer, int64_t d_ff) {
    const OfficialSizes sizes{
        .n_layer = n_layer, .d_model = 768, .n_head = 12, .d_ff = d_ff, .vocab_size = 50'000, .n_positions = 1024};
    return official_parameter_count(config_of(overrides, sizes));
  };
  CHECK(count({}, 18, 3072) == 166'742'736);
  CHECK(count({"model=default-parallel"}, 18, 3072) == 166'742'736);
  CHECK(count({"model=skipless"}, 18, 3072) == 146'072'018);
  CHECK(count({"model=skipless-parallel"}, 18, 3072) == 146'072'018);
  CHECK(count({"model=skipless-parallel", "model.norm_type=none"}, 18, 3072) == 146'045'906);
  CHECK(count({}, 72, 1536) == 379'427'136);
  CHECK(count({"model=skipless"}, 72, 1536) == 294'972'482);
}

TEST_CASE("Every count and shape of their initial models is met", "[convert]") {
  const auto file = test::shared_folder() / "parity/init_stats.json";
  SKIPLESS_NEEDS(file);
  const auto models = json::parse(std::ifstream(file));
  for (const auto& [name, model] : models.items()) {
    INFO(name);
    const json settings{{"overrides", model["overrides"]}};
    auto composed = compose_official_settings(settings, name);
    const OfficialSizes sizes{.n_layer = composed["n_layer"],
                              .d_model = 768,
                              .n_head = 12,
                              .d_ff = static_cast<int64_t>(768 * composed["mlp_width_mult"].get<double>()),
                              .vocab_size = 50'000,
                              .n_positions = 1024};
    std::vector<std::string> notes;
    const auto config = official_model_config(composed, sizes, kEps, name, notes);
    CHECK(official_parameter_count(config) == model["n_params_as_run_clm_prints"]);
    if (!model.contains("params")) continue;
    size_t parameters = 0;
    for (const auto& entry : official_map(config)) {
      if (!entry.is_parameter) continue;
      INFO(entry.name);
      ++parameters;
      REQUIRE(model["params"].contains(entry.name));
      CHECK(json(entry.shape) == model["params"][entry.name]["shape"]);
    }
    CHECK(parameters == model["params"].size());
  }
}

TEST_CASE("A model written in the authors' form is read back to the same tensors", "[convert]") {
  for (const auto& overrides : kOverrides) {
    INFO(json(overrides).dump());
    const auto config = config_of(overrides);
    const auto state = random_state(config);
    const auto file = their_tensors(official_map(config), state);
    const auto imported = import_official(with_overrides(overrides), file, kTest);
    CHECK(imported.config.block == config.block);
    CHECK(same(imported.tensors, state));
  }
}

struct ModelFile {
  ModelConfig model;
  void keys(Schema& s) { s.section("model", model, "the model"); }
  void resolve() { model.resolve(); }
  void check(Problems& problems) const {
    problems.within("model", [&](Problems& p) { model.check(p); });
  }
};

TEST_CASE("An imported config survives being written and read", "[convert]") {
  for (const auto& overrides : kOverrides) {
    INFO(json(overrides).dump());
    const auto config = config_of(overrides);
    ModelFile file;
    file.model = config;
    const auto text = write_config(file);
    const auto read = parse_config<ModelFile>(text, "test");
    CHECK(write_config(read) == text);
    const auto before = official_map(config), after = official_map(read.model);
    REQUIRE(before.size() == after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      CHECK(before[i].name == after[i].name);
      CHECK(before[i].shape == after[i].shape);
      CHECK(before[i].required == after[i].required);
    }
  }
}

TEST_CASE("The block is chosen by what the settings compute", "[convert]") {
  const auto block = [](const std::vector<std::string>& overrides) { return config_of(overrides).block; };
  CHECK(block({}) == "pre_ln");
  CHECK(block({"model=op"}) == "op");
  CHECK(block({"model=op", "model.norm_type=rmsnorm"}) == "pre_ln");
  CHECK(block({"model.norm_position=post"}) == "post_ln");
  CHECK(block({"model=default-parallel"}) == "parallel");
  CHECK(block({"model=skipless"}) == "sas");
  CHECK(block({"model=skipless", "model.attn_block_skip_gain=1"}) == "pre_ln");
  CHECK(block({"model=skipless", "model.value_skip_gain=null"}) == "v_skipinit");
  CHECK(block({"model=skipless-parallel"}) == "sas_p");
  CHECK(block({"model=skipless-parallel", "model.mlp_block_skip_gain=1"}) == "parallel");
}

TEST_CASE("Values that follow another setting do so until they are given", "[convert]") {
  const auto compose = [](const std::vector<std::string>& overrides) {
    return compose_official_settings(with_overrides(overrides), "test");
  };
  const auto eq4 = compose({"model.attn_mat_resid_gain=0", "model=skipless"});
  CHECK(eq4["centre_attn_gain"] == 0);
  CHECK(eq4["attn_mat_skip_gain"] == 1);
  CHECK(compose({"model.val_init_type=orth"})["proj_init_type"] == "orth");
  CHECK(compose({"model.val_init_type=orth", "model.proj_init_type=id"})["proj_init_type"] == "id");
  CHECK(compose({"model=op", "model.mlp_block_resid_gain=0.3"})["attn_block_resid_gain"] == 0.3);
  CHECK(compose({"model.value_resid_gain=0.2"})["proj_resid_gain"] == 0.2);
  CHECK(compose({"train.lr=1"})["name"] == "gpt2");
}

TEST_CASE("Authors' settings that this code does not have are refused by name", "[convert]") {
  const auto of = [](const std::string& override) { return reason([&] { config_of({override}); }); };
  using Catch::Matchers::Contains;
  CHECK_THAT(of("model=other"), Contains("model=other is not one of"));
  CHECK_THAT(of("model.no_such=1"), Contains("'no_such' is not a setting"));
  CHECK_THAT(of("model"), Contains("key=value"));
  CHECK_THAT(of("model.norm_type=batch"), Contains("norm_type is \"batch\"") && Contains("rmsnorm, ln, none"));
  CHECK_THAT(of("model.activation_function=silu"), Contains("activation_function is \"silu\""));
  CHECK_THAT(of("model.attn_block_resid_gain=big"), Contains("attn_block_resid_gain is \"big\"") && Contains("number"));
  CHECK_THAT(of("model.parallel_layers=2"), Contains("parallel_layers is 2"));
  CHECK_THAT(of("model.tie_valproj_init=all_blocks"), Contains("tie_init"));
  CHECK_THAT(of("model.context_length=1e300"), Contains("context_length is 1e+300") && Contains("integer"));
  CHECK_THAT(of("model.context_length=-3"), Contains("context_length is -3"));
  CHECK_THAT(of("model.initializer_range=-5"), Contains("initializer_range (here model.init_std): '-5' is out of"));
  CHECK_THAT(of("model.embd_pdrop=1"), Contains("embd_pdrop (here model.dropout.embedding)"));
  CHECK_THAT(of("model.mlp_block_resid_gain=1e39"), Contains("model.pre_ln.beta_ff.init: '1e+39' is out of range"));
  CHECK_THAT(of("model.proj_resid_gain=${model.proj_resid_gain}"), Contains("proj_resid_gain"));
  CHECK_THAT(reason([] {
               config_of({"model=default-parallel", "model.norm_position=post"});
             }),
             Contains("norm_position"));
  CHECK_THAT(reason([] {
               compose_official_settings({{"model_cfg", {{"n_layers", 2}}}}, "f.json");
             }),
             Contains("f.json") && Contains("'n_layers' is not a setting"));
}

TEST_CASE("What only matters for a new model is noted, not refused", "[convert]") {
  std::vector<std::string> notes;
  const auto config = official_model_config(
      compose_official_settings(with_overrides({"model.key_init_std=0.1", "model.resid_pdrop=0.1"}), "test"), kSmall,
      kEps, "test", notes);
  CHECK(config.dropout.branch == 0.1);
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::Matchers::Contains("key_init_std"));
}

TEST_CASE("Authors' tensors that do not fit are refused by name", "[convert]") {
  const std::vector<std::string> overrides{"model=skipless", "model.trainable_mlp_block_gains=false"};
  const auto file = official_file(config_of(overrides));
  const auto import = [&](const std::function<void(Tensors&)>& change, json settings = {}) {
    auto changed = file;
    change(changed);
    settings["overrides"] = overrides;
    return reason([&] { import_official(settings, changed, {"x.safetensors", "config.json"}); });
  };
  const auto set = [](const std::string& name, const at::Tensor& value) {
    return [=](Tensors& t) { t[name] = value; };
  };
  using Catch::Matchers::Contains;
  const std::string h = "transformer.h.1.";
  CHECK(import([](Tensors&) {}) == "accepted");
  CHECK_THAT(import([&](Tensors& t) { t.erase(h + "ln_2.scale"); }),
             Contains("x.safetensors: no tensor '" + h + "ln_2"));
  CHECK_THAT(import([](Tensors& t) { t.erase("transformer.wpe.weight"); }), Contains("no tensor 'transformer.wpe"));
  CHECK_THAT(import([](Tensors& t) { t.erase("transformer.h.0.attn.qk_attn.weight"); }),
             Contains("no tensor 'transformer.h.0.attn.qk_attn.weight'"));
  CHECK_THAT(import(set(h + "ln_2.scale", at::ones({9}))), Contains("shape [9], not [8]"));
  CHECK_THAT(import(set(h + "ln_2.scale", at::ones({8}, at::kLong))), Contains("Long"));
  CHECK_THAT(import(set("transformer.h.9.ln_2.scale", at::ones({8}))), Contains("h.9") && Contains("no place"));
  CHECK_THAT(import(set(h + "mlp.c_fc.bias", at::full({20}, 0.5))),
             Contains("mlp.c_fc.bias' holds 0.5") && Contains("fixed at 0"));
  // alpha_ff is fixed at 1 by these overrides: this code would not even multiply by it.
  CHECK_THAT(import(set(h + "mlp_block_skip_gain", at::full({1}, 0.5))),
             Contains("holds 0.5") && Contains("fixed at 1"));
  // A gain that is never used may hold anything, and a fixed one that is computed with any value.
  CHECK(import(set(h + "attn_block_skip_gain", at::full({1}, 0.5))) == "accepted");
  CHECK(import(set(h + "mlp_block_resid_gain", at::full({1}, 0.5))) == "accepted");
  CHECK_THAT(import([](Tensors&) {}, {{"model_cfg", {{"n_head", 4}}}}),
             Contains("n_head is 4, but by the tensors it is 2"));
  CHECK_THAT(import([](Tensors&) {}, {{"layer_norm_epsilon", "x"}}), Contains("layer_norm_epsilon"));
}

TEST_CASE("A tied head is accepted under either name or both, and refused where they differ", "[convert]") {
  const auto file = official_file(config_of({}));
  const auto import = [&](const Tensors& tensors) {
    return import_official(with_overrides({}), tensors, kTest).tensors;
  };
  const auto expected = import(file);
  auto both = file;
  both["lm_head.weight"] = file.at("transformer.wte.weight").clone();
  CHECK(same(import(both), expected));
  auto other = file;
  other["lm_head.weight"] = other.at("transformer.wte.weight");
  other.erase("transformer.wte.weight");
  CHECK(same(import(other), expected));
  both["lm_head.weight"] = both["lm_head.weight"] + 1;
  CHECK_THAT(reason([&] { import(both); }), Catch::Matchers::Contains("differs from 'transformer.wte.weight'"));
}

TEST_CASE("A fixed W_init may be absent where it is the identity, and nowhere else", "[convert]") {
  const auto import = [](const std::vector<std::string>& overrides) {
    auto file = official_file(config_of(overrides));
    std::erase_if(file, [](const auto& item) { return item.first.rfind("const/", 0) == 0; });
    return reason([&] { import_official(with_overrides(overrides), file, kTest); });
  };
  CHECK(import({"model=skipless"}) == "accepted");
  CHECK_THAT(import({"model=skipless", "model.val_init_type=orth"}),
             Catch::Matchers::Contains("const/transformer.h.0.attn.v_attn.id"));
}

json gpt2_settings() {
  return {{"model_type", "gpt2"}, {"vocab_size", 11}, {"n_positions", 7}, {"n_embd", 8},
          {"n_layer", 2},         {"n_head", 2},      {"n_inner", 20},    {"resid_pdrop", 0.1}};
}

Tensors gpt2_file(const json& settings) {
  auto config = small_model();
  config.norm = NormKind::layer_norm;
  config.activation = Activation::gelu_tanh;
  config.bias = {true, true, true, true};
  config.tied_head = settings.value("tie_word_embeddings", true);
  config.resolve();
  return their_tensors(gpt2_map(config), random_state(config));
}

TEST_CASE("A GPT-2 is read with or without prefix, buffers and the tied head's second name", "[convert]") {
  const auto file = gpt2_file(gpt2_settings());
  const auto imported = import_gpt2(gpt2_settings(), file, kTest);
  CHECK(imported.config.block == "pre_ln");
  CHECK(*imported.config.d_ff == 20);
  CHECK(imported.config.dropout.branch == 0.1);
  // Queries, keys, then values, as columns.
  const auto fused = file.at("transformer.h.1.attn.c_attn.weight");
  CHECK(at::equal(imported.tensors.at("block_1.attention.value.weight"), fused.slice(1, 16, 24).t()));
  CHECK(at::equal(imported.tensors.at("block_1.attention.w_qk"), fused.slice(1, 0, 16).t()));
  CHECK(same(their_tensors(imported.map, imported.tensors), file));

  Tensors bare;
  for (const auto& [name, tensor] : file) bare[name.substr(std::string("transformer.").size())] = tensor;
  for (const char* layer : {"0", "1"}) {
    bare[fmt::format("h.{}.attn.bias", layer)] = at::ones({1, 1, 7, 7});
    bare[fmt::format("h.{}.attn.masked_bias", layer)] = at::full({}, -1e4);
  }
  bare["lm_head.weight"] = bare.at("wte.weight").clone();
  CHECK(same(import_gpt2(gpt2_settings(), bare, kTest).tensors, imported.tensors));
  bare.erase("h.1.ln_2.bias");
  CHECK(
      reason([&] {
        import_gpt2(gpt2_settings(), bare, {"x.safetensors", "config.json"});
      }) ==
      "x.safetensors (its names with 'transformer.' before them): no tensor 'transformer.h.1.ln_2.bias', of shape [8]");
}

TEST_CASE("A GPT-2 with a head of its own keeps it", "[convert]") {
  auto settings = gpt2_settings();
  settings["tie_word_embeddings"] = false;
  const auto file = gpt2_file(settings);
  const auto imported = import_gpt2(settings, file, kTest);
  CHECK(at::equal(imported.tensors.at("head"), file.at("lm_head.weight")));
}

/// Why a GPT-2 with this one setting changed is refused.
std::string gpt2_with(const char* key, const json& value) {
  auto settings = gpt2_settings();
  const auto file = gpt2_file(settings);
  settings[key] = value;
  return reason([&] { import_gpt2(settings, file, {"x.safetensors", "config.json"}); });
}

TEST_CASE("GPT-2 settings that change what is computed are refused by name", "[convert]") {
  using Catch::Matchers::Contains;
  CHECK(gpt2_with("reorder_and_upcast_attn", true) == "accepted");
  CHECK_THAT(gpt2_with("scale_attn_weights", false), Contains("scale_attn_weights is false"));
  CHECK_THAT(gpt2_with("scale_attn_by_inverse_layer_idx", true), Contains("scale_attn_by_inverse_layer_idx is true"));
  CHECK_THAT(gpt2_with("activation_function", "silu"), Contains("activation_function is \"silu\""));
  CHECK_THAT(gpt2_with("n_head", 3), Contains("n_head"));
  CHECK_THAT(gpt2_with("n_layer", 0), Contains("n_layer is 0"));
  CHECK_THAT(gpt2_with("n_layer", "two"), Contains("n_layer is \"two\""));
  CHECK_THAT(gpt2_with("n_inner", 21), Contains("shape"));
}

TEST_CASE("GPT-2 settings that no run can have are refused before a model is built, by their key", "[convert]") {
  using Catch::Matchers::Contains;
  // Of two keys here, and said once.
  CHECK(gpt2_with("layer_norm_epsilon", -1) ==
        "config.json: layer_norm_epsilon (here model.norm_eps): '-1' is out of range; allowed: a number from 0 to 1");
  CHECK_THAT(gpt2_with("attn_pdrop", 1),
             Contains("config.json: attn_pdrop (here model.dropout.attention): '1' is out of"));
  CHECK_THAT(gpt2_with("initializer_range", -5),
             Contains("initializer_range (here model.init_std): '-5' is out of range"));
  CHECK_THAT(gpt2_with("n_layer", 1'000'000'000),
             Contains("n_layer (here model.n_layer): '1000000000' is out of range"));
  CHECK_THAT(gpt2_with("n_layer", 10'000), Contains("n_layer is 10000, but x.safetensors holds 28 tensors"));
  CHECK_THAT(gpt2_with("n_layer", uint64_t{1} << 63),
             Contains("n_layer is 9223372036854775808") && Contains("integer"));
  CHECK_THAT(gpt2_with("n_embd", int64_t{1} << 62), Contains("n_embd (here model.d_model)"));
}

TEST_CASE("A model exported to the authors' form is read back to the same config and bits", "[convert][export]") {
  for (const auto& overrides : kOverrides) {
    INFO(json(overrides).dump());
    const auto config = config_of(overrides);
    const auto state = random_state(config);
    const auto exported = export_official(config, state);
    CHECK(exported.notes.empty());
    CHECK(exported.tensors.count("lm_head.weight") == 0);
    const auto settings = json::parse(exported.settings);
    CHECK(is_official_config(settings));
    CHECK(settings["tie_word_embeddings"] == true);
    const auto imported = import_official(settings, exported.tensors, kTest);
    CHECK(write_config(imported.config) == write_config(config));
    CHECK(same(imported.tensors, state));
  }
}

TEST_CASE("Our own default of every block is exported to the authors' form and read back", "[convert][export]") {
  for (const auto& variant : block_variants()) {
    for (const NormKind norm : {NormKind::rms_norm, NormKind::layer_norm, NormKind::none}) {
      auto config = small_model();
      config.block = variant.name;
      config.norm = norm;
      config.resolve();
      INFO("block " << variant.name << ", norm " << name_of(norm));
      const auto state = random_state(config);
      const auto exported = export_official(config, state);
      const auto imported = import_official(json::parse(exported.settings), exported.tensors, kTest);
      CHECK(imported.config.block == config.block);
      CHECK(same(imported.tensors, state));
    }
  }
}

TEST_CASE("A fixed W_init is written only where it is not the identity", "[convert][export]") {
  const auto has_constants = [](const std::vector<std::string>& overrides) {
    const auto config = config_of(overrides);
    for (const auto& [name, tensor] : export_official(config, random_state(config)).tensors) {
      if (name.starts_with("const/")) return true;
    }
    return false;
  };
  CHECK_FALSE(has_constants({"model=skipless"}));
  CHECK(has_constants({"model=skipless", "model.val_init_type=orth", "model.value_resid_gain=0.1"}));
}

TEST_CASE("Embedding rows beyond the vocabulary are not exported", "[convert][export]") {
  auto config = small_model();
  config.vocab_multiple = 8;
  config.resolve();
  const auto state = random_state(config);
  REQUIRE(state.at("embedding.tokens").size(0) == 16);
  const auto exported = export_official(config, state);
  CHECK(at::equal(exported.tensors.at("transformer.wte.weight"), state.at("embedding.tokens").slice(0, 0, 11)));
  REQUIRE(exported.notes.size() == 1);
  CHECK_THAT(exported.notes[0], Catch::Matchers::Contains("model.vocab_multiple is 8, there 1"));
  CHECK(import_official(json::parse(exported.settings), exported.tensors, kTest).config.vocab_size == 11);
}

TEST_CASE("What only a new model needs is noted in an export, and not refused", "[convert][export]") {
  auto config = small_model();
  config.block = "sas";
  auto& shape = block_parts(config).attention->shape;
  shape.beta.init = 0.5;
  shape.gamma.per_head = false;
  config.resolve();
  const auto state = random_state(config);
  const auto exported = export_official(config, state);
  REQUIRE(exported.notes.size() == 1);
  CHECK_THAT(exported.notes[0], Catch::Matchers::Contains("model.sas.gamma.per_head is false, there true"));
  const auto& gamma = exported.tensors.at("transformer.h.1.attn.centre_attn_gain");
  CHECK(gamma.sizes() == at::IntArrayRef({1, 2, 1, 1}));
  CHECK(gamma.eq(state.at("block_1.attention.shape.gamma.value")).all().item<bool>());
}

TEST_CASE("An identity start is exported when it is over, and not before", "[convert][export]") {
  auto config = small_model();
  config.block = "sas";
  config.identity_start = {.schedule = IdentitySchedule::linear, .steps = 10};
  config.resolve();
  auto state = random_state(config);
  CHECK_THAT(reason([&] { export_official(config, state); }),
             Catch::Matchers::Contains("model.identity_start.schedule is linear, there \"off\""));
  for (auto& [name, tensor] : state) {
    if (name.ends_with(".lambda")) tensor = at::zeros_like(tensor);
  }
  CHECK(export_official(config, state).notes.empty());
}

TEST_CASE("What the authors' code cannot express is refused by key", "[convert][export]") {
  const auto refusal = [](const std::function<void(ModelConfig&, BlockParts&)>& change) {
    auto config = small_model();
    config.block = "sas";
    auto parts = block_parts(config);
    change(config, parts);
    config.resolve();
    return reason([&] { export_official(config, random_state(config)); });
  };
  using Catch::Matchers::Contains;
  CHECK(refusal([](ModelConfig&, BlockParts&) {}) == "accepted");
  CHECK(refusal([](ModelConfig&, BlockParts& p) { p.attention->last_layer_projection = p.attention->projection; }) ==
        "accepted");
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.positions = PositionKind::sinusoidal; }),
             Contains("the authors' code cannot express") && Contains("model.positions is sinusoidal, there learned"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.tied_head = false; }), Contains("model.tied_head is false"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.activation = Activation::geglu; }),
             Contains("model.activation is geglu"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.soft_cap = 20; }), Contains("model.soft_cap is 20"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.bias.value = true; }), Contains("model.bias.value is true"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.final_norm_eps = 1e-3; }), Contains("model.final_norm_eps"));
  CHECK_THAT(refusal([](ModelConfig&, BlockParts& p) { p.attention->shape.alpha.trainable = false; }),
             Contains("model.sas.alpha.trainable is false, there true"));
  CHECK_THAT(refusal([](ModelConfig&, BlockParts& p) { p.attention->first_layer_value.beta.trainable = false; }),
             Contains("model.sas.first_layer_value.beta.trainable"));
  CHECK_THAT(refusal([](ModelConfig&, BlockParts& p) { p.attention->value.kind = ProjectionKind::plain; }),
             Contains("model.block sas would be read as v_skipinit"));
}

ModelConfig gpt2_config() {
  auto config = small_model();
  config.norm = NormKind::layer_norm;
  config.activation = Activation::gelu_tanh;
  config.bias = {true, true, true, true};
  config.n_positions = 9;
  config.vocab_multiple = 8;
  return config;
}

TEST_CASE("A GPT-2 exported for transformers is read back to the same bits", "[convert][export]") {
  for (const bool tied : {true, false}) {
    for (const Activation activation : {Activation::gelu_tanh, Activation::gelu, Activation::relu}) {
      auto config = gpt2_config();
      config.vocab_multiple = 1;
      config.tied_head = tied;
      config.activation = activation;
      config.resolve();
      const auto state = random_state(config);
      const auto exported = export_gpt2(config, state);
      CHECK(exported.tensors.count("lm_head.weight") == (tied ? 0 : 1));
      const auto settings = json::parse(exported.settings);
      CHECK(settings["tie_word_embeddings"] == tied);
      CHECK(settings["eos_token_id"].is_null());
      const auto with_end = json::parse(export_gpt2(config, state, 0).settings);
      CHECK(with_end["bos_token_id"] == 0);
      CHECK(with_end["eos_token_id"] == 0);
      const auto imported = import_gpt2(settings, exported.tensors, kTest);
      CHECK(imported.notes.empty());
      CHECK(imported.config.activation == activation);
      CHECK(same(imported.tensors, state));
    }
  }
  auto config = gpt2_config();
  config.tied_head = false;
  config.resolve();
  const auto exported = export_gpt2(config, random_state(config));
  CHECK(exported.tensors.at("lm_head.weight").size(0) == 11);
  CHECK(exported.notes.size() == 2);  // vocab_multiple, context_length
}

TEST_CASE("A model that is no GPT-2 is refused by key", "[convert][export]") {
  const auto refusal = [](const std::function<void(ModelConfig&, BlockParts&)>& change) {
    auto config = gpt2_config();
    auto parts = block_parts(config);
    change(config, parts);
    config.resolve();
    return reason([&] { export_gpt2(config, random_state(config)); });
  };
  using Catch::Matchers::Contains;
  CHECK(refusal([](ModelConfig&, BlockParts&) {}) == "accepted");
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.block = "sas"; }), Contains("model.block sas would be read"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.norm = NormKind::rms_norm; }),
             Contains("a GPT-2 cannot express") && Contains("model.norm is rms_norm, there layer_norm"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.bias.feed_forward = false; }),
             Contains("model.bias.feed_forward is false, there true"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.qk_norm = true; }), Contains("model.qk_norm is true"));
  CHECK_THAT(refusal([](ModelConfig& c, BlockParts&) { c.activation = Activation::leaky_relu; }),
             Contains("model.activation is leaky_relu"));
  CHECK_THAT(refusal([](ModelConfig&, BlockParts& p) { p.beta_ff->init = 0.5; }),
             Contains("model.pre_ln.beta_ff.init"));
  CHECK_THAT(refusal([](ModelConfig&, BlockParts& p) { p.alpha_sa->trainable = true; }),
             Contains("model.pre_ln.alpha_sa.trainable"));
  CHECK_THAT(refusal([](ModelConfig&, BlockParts& p) { p.attention->value.kind = ProjectionKind::identity; }),
             Contains("model.pre_ln.value.kind is identity"));
}

TEST_CASE("The three kinds of settings are told apart", "[convert]") {
  CHECK(is_gpt2_config(gpt2_settings()));
  CHECK_FALSE(is_official_config(gpt2_settings()));
  CHECK(is_official_config(with_overrides({})));
  CHECK(is_official_config({{"model_cfg", json::object()}}));
  auto saved = compose_official_settings(json::object(), "test");
  saved["model_type"] = "gpt2";
  CHECK(is_official_config(saved));
  CHECK_FALSE(is_official_config(json::array()));
}

}  // namespace
}  // namespace skipless
