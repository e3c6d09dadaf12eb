// Import and export of BERT by Hugging Face and by the Cramming code: names, layouts, settings, heads and refusals.
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "configs/config_file.h"
#include "models/blocks/post_ln.h"
#include "models/convert/bert.h"
#include "models/convert/block_parts.h"
#include "models/convert/cramming.h"
#include "models/convert/formats.h"
#include "models/sequence_head.h"

#include <catch2/catch.hpp>

#include "tests/models/foreign_model.h"

namespace skipless {
namespace {

using namespace test;
using Catch::Matchers::Contains;
using nlohmann::json;

/// 2 layers of 8, 2 heads of 4.
ModelConfig small_encoder() {
  ModelConfig config;
  config.kind = ModelKind::bert;
  config.n_layer = 2;
  config.d_model = 8;
  config.n_head = 2;
  config.d_ff = 20;
  config.vocab_size = 11;
  config.context_length = 7;
  config.norm = config.embedding_norm = config.final_norm = NormKind::layer_norm;
  config.norm_eps = config.embedding_norm_eps = config.final_norm_eps = 1e-12;
  config.padding_id = 0;
  return config;
}

ModelConfig bert_config() {
  auto config = small_encoder();
  config.block = "post_ln";
  static_cast<PostLnBlockImpl::Config&>(config.blocks[config.block]).first_norm = false;
  config.activation = Activation::gelu;
  config.bias = {true, true, true, true};
  config.n_token_types = 2;
  config.mlm_head = {.transform = true, .bias = true};
  return config;
}

ModelConfig crammed_config() {
  auto config = small_encoder();
  config.activation = Activation::geglu;
  config.bias = {false, false, false, false};
  config.positions = PositionKind::scaled_sinusoidal;
  return config;
}

ModelConfig resolved(ModelConfig config) {
  config.resolve();
  return config;
}

ExportedModel exported_bert() {
  const auto config = resolved(bert_config());
  return export_bert(config, random_state(config));
}

/// `exported` with a pooler and, if asked, a last map to 3 classes.
Tensors with_head(const Tensors& exported, bool classes) {
  auto file = exported;
  std::erase_if(file, [](const auto& item) { return item.first.starts_with("cls."); });
  file["bert.pooler.dense.weight"] = at::rand({8, 8});
  file["bert.pooler.dense.bias"] = at::rand({8});
  if (classes) {
    file["classifier.weight"] = at::rand({3, 8});
    file["classifier.bias"] = at::rand({3});
  }
  return file;
}

TEST_CASE("A BERT exported for transformers is read back to the same config and bits", "[convert][export][bert]") {
  for (const bool tied : {true, false}) {
    for (const Activation activation : {Activation::gelu, Activation::gelu_tanh, Activation::relu}) {
      auto config = bert_config();
      config.tied_head = tied;
      config.activation = activation;
      config.dropout = {.embedding = 0.2, .attention = 0.3, .branch = 0.2};
      config.resolve();
      const auto state = random_state(config);
      const auto exported = export_bert(config, state);
      CHECK(exported.notes.empty());
      const auto settings = json::parse(exported.settings);
      CHECK(is_bert_config(settings));
      CHECK(exported.tensors.count("cls.predictions.decoder.weight") == (tied ? 0 : 1));
      CHECK(exported.tensors.count("cls.predictions.decoder.bias") == (tied ? 0 : 1));
      const auto imported = import_bert(settings, exported.tensors, kTest);
      CHECK(write_config(imported.config) == write_config(config));
      CHECK(same(imported.tensors, state));
      CHECK_FALSE(imported.head);
    }
  }
}

TEST_CASE("Queries and keys of a BERT are halves of one map here, and its output norms begin our next block",
          "[convert][bert]") {
  const auto exported = exported_bert();
  const auto& file = exported.tensors;
  const auto imported = import_bert(json::parse(exported.settings), file, kTest);
  const std::string attention = "bert.encoder.layer.1.attention.";
  CHECK(at::equal(imported.tensors.at("block_1.attention.w_qk"),
                  at::cat({file.at(attention + "self.query.weight"), file.at(attention + "self.key.weight")})));
  CHECK(at::equal(imported.tensors.at("embedding.norm.weight"), file.at("bert.embeddings.LayerNorm.weight")));
  CHECK(at::equal(imported.tensors.at("block_0.norm_2.bias"),
                  file.at("bert.encoder.layer.0.attention.output.LayerNorm.bias")));
  CHECK(at::equal(imported.tensors.at("block_1.norm_1.bias"), file.at("bert.encoder.layer.0.output.LayerNorm.bias")));
  CHECK(at::equal(imported.tensors.at("final_norm.bias"), file.at("bert.encoder.layer.1.output.LayerNorm.bias")));
}

TEST_CASE("A BERT is read with old names, buffers, second names of tied tensors and the head for next sentences",
          "[convert][bert]") {
  const auto exported = exported_bert();
  const auto settings = json::parse(exported.settings);
  const auto expected = import_bert(settings, exported.tensors, kTest);
  Tensors old;
  for (const auto& [name, tensor] : exported.tensors) {
    auto given = name;
    if (const auto at = given.find("LayerNorm.weight"); at != given.npos)
      given.replace(at, std::string::npos, "LayerNorm.gamma");
    if (const auto at = given.find("LayerNorm.bias"); at != given.npos)
      given.replace(at, std::string::npos, "LayerNorm.beta");
    old.emplace(given, tensor);
  }
  old["bert.embeddings.position_ids"] = at::full({1, 7}, 1, at::kLong);
  old["cls.predictions.decoder.weight"] = old.at("bert.embeddings.word_embeddings.weight").clone();
  old["cls.predictions.decoder.bias"] = old.at("cls.predictions.bias").clone();
  old["cls.seq_relationship.weight"] = at::rand({2, 8});
  old["cls.seq_relationship.bias"] = at::rand({2});
  old["bert.pooler.dense.weight"] = at::rand({8, 8});
  old["bert.pooler.dense.bias"] = at::rand({8});
  const auto imported = import_bert(settings, old, kTest);
  CHECK(same(imported.tensors, expected.tensors));
  CHECK_FALSE(imported.head);
  REQUIRE(imported.notes.size() == 1);
  CHECK_THAT(imported.notes[0], Contains("follows another"));
  auto twice = old;
  twice["bert.embeddings.LayerNorm.weight"] = at::rand({8});
  CHECK_THAT(reason([&] { import_bert(settings, twice, kTest); }),
             Contains("'bert.embeddings.LayerNorm.weight' stands there under another name"));
  old["cls.predictions.decoder.bias"] = old["cls.predictions.decoder.bias"] + 1;
  CHECK_THAT(reason([&] { import_bert(settings, old, kTest); }), Contains("cls.predictions.decoder.bias"));
}

TEST_CASE("An encoder alone is read without prefix, with its pooler as a head to be trained, and written as BertModel",
          "[convert][export][bert]") {
  const auto exported = exported_bert();
  const auto settings = json::parse(exported.settings);
  for (const bool pooler : {false, true}) {
    Tensors bare;
    for (const auto& [name, tensor] : with_head(exported.tensors, /*classes=*/false)) {
      if (pooler || name.find("pooler") == name.npos) bare.emplace(name.substr(5), tensor);
    }
    const auto imported = import_bert(settings, bare, kTest);
    CHECK_FALSE(imported.config.mlm_head.transform);
    CHECK(imported.config.tied_head);
    REQUIRE(imported.head.has_value() == pooler);
    if (pooler) {
      CHECK(at::equal(imported.head->tensors.at("head_w_1"), bare.at("pooler.dense.weight")));
      CHECK(imported.head->tensors.size() == 2);
    }
    std::erase_if(bare, [](const auto& item) { return item.first.starts_with("pooler."); });
    const auto again = export_bert(imported.config, imported.tensors);
    CHECK(same(again.tensors, bare));
    bare.erase("encoder.layer.0.output.dense.bias");
    CHECK_THAT(reason([&] {
                 import_bert(settings, bare, {"x.safetensors", "config.json"});
               }),
               Contains("x.safetensors (its names with 'bert.' before them): no tensor 'bert.encoder.layer.0.output"));
    CHECK(json::parse(again.settings)["architectures"][0] == "BertModel");
  }
}

TEST_CASE("The head of a BERT that classifies is kept with the names of its classes", "[convert][bert]") {
  const auto exported = exported_bert();
  auto settings = json::parse(exported.settings);
  const auto file = with_head(exported.tensors, /*classes=*/true);
  settings["classifier_dropout"] = 0.25;
  settings["id2label"] = {{"0", "entailment"}, {"1", "neutral"}, {"2", "contradiction"}};
  const auto imported = import_bert(settings, file, kTest);
  REQUIRE(imported.head);
  CHECK(imported.head->config.n_labels == 3);
  CHECK(imported.head->config.dropout == 0.25);
  CHECK(imported.head->labels == std::vector<std::string>{"entailment", "neutral", "contradiction"});
  CHECK(at::equal(imported.head->tensors.at("head_w_2"), file.at("classifier.weight")));
  CHECK(imported.head->tensors.size() == 4);
  settings["id2label"]["1"] = "LABEL_1";  // what their code calls a class without a name
  CHECK(import_bert(settings, file, kTest).head->labels.empty());

  const auto path = std::filesystem::temp_directory_path() / fmt::format("skipless_head_{}", getpid());
  write_sequence_head(path, *imported.head);
  const auto read = read_sequence_head(path);
  std::filesystem::remove(path);
  CHECK(same(read.tensors, imported.head->tensors));
  CHECK(read.labels == imported.head->labels);
  CHECK(read.config.n_labels == 3);
  CHECK(read.config.dropout == 0.25);
}

TEST_CASE("BERT settings that change what is computed are refused by name", "[convert][bert]") {
  const auto exported = exported_bert();
  const auto with = [&](const char* key, const json& value) {
    auto settings = json::parse(exported.settings);
    settings[key] = value;
    return reason([&] { import_bert(settings, exported.tensors, {"x.safetensors", "config.json"}); });
  };
  CHECK(with("use_cache", true) == "accepted");
  CHECK_THAT(with("position_embedding_type", "relative_key"), Contains("position_embedding_type is \"relative_key\""));
  CHECK_THAT(with("is_decoder", true), Contains("is_decoder is true"));
  CHECK_THAT(with("hidden_act", "silu"), Contains("hidden_act is \"silu\""));
  CHECK_THAT(with("num_attention_heads", 3), Contains("n_head"));
  CHECK_THAT(with("num_hidden_layers", 0), Contains("num_hidden_layers is 0"));
  CHECK_THAT(with("intermediate_size", 21), Contains("shape"));
  CHECK_THAT(with("num_hidden_layers", 1), Contains("has no place"));
  CHECK_THAT(with("pad_token_id", 11), Contains("pad_token_id (here model.padding_id): 11 is not below"));
}

TEST_CASE("BERT settings that no run can have are refused before a model is built, by their key", "[convert][bert]") {
  const auto exported = exported_bert();
  const auto with = [&](const char* key, const json& value, const Tensors& file) {
    auto settings = json::parse(exported.settings);
    settings[key] = value;
    return reason([&] { import_bert(settings, file, {"x.safetensors", "config.json"}); });
  };
  const auto refused = [&](const char* key, const json& value, const std::string& allowed) {
    INFO(key << " " << value.dump());
    CHECK_THAT(with(key, value, exported.tensors), Contains("config.json: ") && Contains(key) && Contains(allowed));
  };
  for (const json& id : {json(-1), json(0.5), json(1e300), json("0"), json(uint64_t{1} << 63)}) {
    refused("pad_token_id", id, "allowed: an integer from 0 on");
  }
  CHECK(with("pad_token_id", nullptr, exported.tensors) == "accepted");
  refused("layer_norm_eps", -1, "allowed: a number from 0 to 1");
  for (const double rate : {2.0, 1.0, -1.0}) {
    refused("hidden_dropout_prob", rate, "allowed: a number at least 0 and below 1");
    refused("attention_probs_dropout_prob", rate, "allowed: a number at least 0 and below 1");
  }
  refused("initializer_range", -5, "allowed: a number from 0 to 10");
  refused("max_position_embeddings", 1, "(here model.context_length): '1' is out of range; allowed: an integer from 2");
  // At once, and not after a map of so many layers.
  refused("num_hidden_layers", 1'000'000'000, "allowed: an integer from 1 to 10000");
  CHECK(with("num_hidden_layers", 10'000, exported.tensors) ==
        fmt::format("config.json: num_hidden_layers is 10000, but x.safetensors holds {} tensors",
                    exported.tensors.size()));
  const auto classifier = with_head(exported.tensors, /*classes=*/true);
  CHECK(with("classifier_dropout", 0, classifier) == "accepted");
  for (const double rate : {5.0, -1.0}) {
    CHECK_THAT(with("classifier_dropout", rate, classifier),
               Contains("config.json: classifier_dropout (here head.dropout): '") && Contains("below 1"));
  }
}

TEST_CASE("A model that is no BERT is refused by key", "[convert][export][bert]") {
  const auto refusal = [](const std::function<void(ModelConfig&)>& change) {
    auto config = bert_config();
    change(config);
    config.resolve();
    return reason([&] { export_bert(config, random_state(config)); });
  };
  CHECK(refusal([](ModelConfig&) {}) == "accepted");
  CHECK_THAT(refusal([](ModelConfig& c) { c.block = "sas"; }), Contains("model.block sas would be read as post_ln"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.embedding_norm = NormKind::none; }),
             Contains("a BERT cannot express") && Contains("model.embedding_norm is none, there layer_norm"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.n_token_types = 0; }), Contains("model.n_token_types is 0, there 1"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.mlm_head.bias = false; }), Contains("model.mlm_head.bias"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.final_norm_eps = 1e-5; }), Contains("model.final_norm_eps"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.positions = PositionKind::sinusoidal; }), Contains("model.positions"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.dropout.embedding = 0.5; }), Contains("model.dropout.embedding"));
}

TEST_CASE("A Crammed BERT is written head by head as [q k v], and read back to the same config and bits",
          "[convert][export][cramming]") {
  for (const bool all : {false, true}) {
    auto config = crammed_config();
    if (all) {
      config.bias = {true, true, true, true};
      config.mlm_head = {.transform = true, .bias = true};
      config.tied_head = false;
      config.positions = PositionKind::learned;
      config.padding_id.reset();
    }
    config.resolve();
    auto state = random_state(config);
    const auto exported = export_cramming(config, state);
    CHECK(exported.notes.empty());
    const auto settings = json::parse(exported.settings);
    CHECK(is_cramming_config(settings));
    const auto& fused = exported.tensors.at("encoder.layers.1.attn.self_attention.query_key_value.weight");  // [24, 8]
    const auto& w_qk = state.at("block_1.attention.w_qk");
    const auto& value = state.at("block_1.attention.value.weight");
    for (int64_t head = 0; head < 2; ++head) {
      const auto rows = [&](int64_t part) { return fused.slice(0, 12 * head + 4 * part, 12 * head + 4 * part + 4); };
      CHECK(at::equal(rows(0), w_qk.slice(0, 4 * head, 4 * head + 4)));
      CHECK(at::equal(rows(1), w_qk.slice(0, 8 + 4 * head, 12 + 4 * head)));
      CHECK(at::equal(rows(2), value.slice(0, 4 * head, 4 * head + 4)));
    }
    const auto imported = import_cramming(settings, exported.tensors, kTest);
    CHECK(write_config(imported.config) == write_config(config));
    if (!all) {
      // Their sinusoids are computed in float32.
      const auto &theirs = imported.tensors.at("embedding.positions"), &ours = state.at("embedding.positions");
      CHECK((theirs - ours).abs().max().item<double>() < 1e-6);
      state["embedding.positions"] = theirs;
    }
    CHECK(same(imported.tensors, state));
  }
}

TEST_CASE("A Crammed BERT's classifier is read with its pooler", "[convert][cramming]") {
  const auto config = resolved(crammed_config());
  const auto exported = export_cramming(config, random_state(config));
  auto settings = json::parse(exported.settings);
  auto& head = settings["arch"]["classification_head"];
  head["head_dim"] = 5;
  auto file = exported.tensors;
  file["pooler.dense.weight"] = at::rand({5, 8});
  file["pooler.dense.bias"] = at::rand({5});
  file["head.weight"] = at::rand({3, 5});
  file["head.bias"] = at::rand({3});
  const auto imported = import_cramming(settings, file, kTest);
  REQUIRE(imported.head);
  CHECK(imported.head->config.pooling == Pooling::cls);
  CHECK(imported.head->config.hidden_width == 5);
  CHECK(imported.head->config.n_labels == 3);
  CHECK(at::equal(imported.head->tensors.at("head_w_2"), file.at("head.weight")));
  head["pooler"] = "avg";
  CHECK(import_cramming(settings, file, kTest).head->config.pooling == Pooling::mean);
  head["pooler"] = "max";
  CHECK_THAT(reason([&] { import_cramming(settings, file, kTest); }),
             Contains("arch.classification_head.pooler is \"max\""));
}

TEST_CASE("Cramming settings that change what is computed are refused by name", "[convert][cramming]") {
  const auto config = resolved(crammed_config());
  const auto exported = export_cramming(config, random_state(config));
  const auto with = [&](const char* pointer, const json& value) {
    auto settings = json::parse(exported.settings);
    settings[json::json_pointer(pointer)] = value;
    return reason([&] { import_cramming(settings, exported.tensors, kTest); });
  };
  CHECK(with("/arch/loss", "szegedy") == "accepted");
  CHECK_THAT(with("/arch/norm", "RMSNorm"), Contains("arch.norm is \"RMSNorm\"") && Contains("LayerNorm"));
  CHECK_THAT(with("/arch/norm_scheme", "post"), Contains("arch.norm_scheme"));
  CHECK_THAT(with("/arch/nonlin", "SiLUglu"), Contains("arch.nonlin is \"SiLUglu\"") && Contains("GELUglu"));
  CHECK_THAT(with("/arch/ffn_layer_frequency", 2), Contains("arch.ffn_layer_frequency is 2"));
  CHECK_THAT(with("/arch/attention/rotary_embedding", true), Contains("arch.attention.rotary_embedding is true"));
  CHECK_THAT(with("/arch/attention/causal_attention", true), Contains("causal_attention"));
  CHECK_THAT(with("/arch/attention/type", "fourier"), Contains("arch.attention.type"));
  CHECK_THAT(with("/arch/embedding/pos_embedding", "rotary"), Contains("arch.embedding.pos_embedding"));
  CHECK_THAT(with("/arch/embedding/embedding_dim", 4), Contains("arch.embedding.embedding_dim"));
  CHECK_THAT(with("/arch/skip_head_transform", false), Contains("arch.skip_head_transform"));
  CHECK_THAT(with("/arch/embedding", 3), Contains("arch.embedding is 3"));
  CHECK_THAT(with("/arch/intermed_size", 18), Contains("shape"));
}

TEST_CASE("Cramming settings that no run can have are refused before a model is built, by their key",
          "[convert][cramming]") {
  const auto config = resolved(crammed_config());
  const auto exported = export_cramming(config, random_state(config));
  const auto with = [&](const std::vector<std::pair<const char*, json>>& changes) {
    auto settings = json::parse(exported.settings);
    for (const auto& [pointer, value] : changes) settings[json::json_pointer(pointer)] = value;
    return reason([&] { import_cramming(settings, exported.tensors, {"x.safetensors", "config.json"}); });
  };
  for (const json& id : {json(-1), json(0.5), json(1e300)}) {
    CHECK_THAT(with({{"/arch/embedding/pad_token_id", id}}),
               Contains("config.json: arch.embedding.pad_token_id is ") && Contains("an integer from 0 on"));
  }
  CHECK_THAT(with({{"/arch/norm_eps", -1}}), Contains("arch.norm_eps (here model.norm_eps): '-1' is out of range"));
  CHECK_THAT(with({{"/arch/hidden_dropout_prob", 1}}), Contains("arch.hidden_dropout_prob (here model.dropout"));
  CHECK_THAT(with({{"/arch/init/std", -5}}), Contains("arch.init.std (here model.init_std): '-5' is out of range"));
  CHECK_THAT(with({{"/arch/num_transformer_layers", 1'000'000'000}}), Contains("arch.num_transformer_layers (here"));
  CHECK_THAT(with({{"/arch/num_transformer_layers", 10'000}}), Contains("x.safetensors holds"));
  // So many heads of so many layers that a map of them all would not fit into memory.
  CHECK_THAT(with({{"/arch/hidden_size", 1'000'000},
                   {"/arch/embedding/embedding_dim", 1'000'000},
                   {"/arch/attention/num_attention_heads", 1'000'000}}),
             Contains("config.json: arch.hidden_size is 1000000, but tensor") && Contains("[11, 8]"));
  auto file = exported.tensors;
  file["pooler.dense.weight"] = at::rand({8, 8});
  file["pooler.dense.bias"] = at::rand({8});
  file["head.weight"] = at::rand({3, 8});
  file["head.bias"] = at::rand({3});
  auto settings = json::parse(exported.settings);
  settings["arch"]["classification_head"]["classifier_dropout"] = 1;
  CHECK_THAT(reason([&] { import_cramming(settings, file, kTest); }),
             Contains("arch.classification_head.classifier_dropout (here head.dropout): '1' is out of range"));
}

TEST_CASE("A model that the Cramming code cannot express is refused by key", "[convert][export][cramming]") {
  const auto refusal = [](const std::function<void(ModelConfig&)>& change) {
    auto config = crammed_config();
    change(config);
    config.resolve();
    return reason([&] { export_cramming(config, random_state(config)); });
  };
  CHECK(refusal([](ModelConfig&) {}) == "accepted");
  CHECK_THAT(refusal([](ModelConfig& c) { c.block = "sas"; }), Contains("model.block sas would be read as pre_ln"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.kind = ModelKind::gpt; }), Contains("model.kind is gpt, there bert"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.n_token_types = 2; }), Contains("model.n_token_types is 2, there 0"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.norm = NormKind::rms_norm; }), Contains("model.norm is rms_norm"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.bias.query_key = true; }),
             Contains("model.bias.value is false, there true"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.activation = Activation::relu; }), Contains("accepted"));
  CHECK_THAT(refusal([](ModelConfig& c) { c.activation = Activation::gelu_tanh; }), Contains("model.activation"));
}

TEST_CASE("The formats are told apart by their settings", "[convert]") {
  const auto name_of = [](const json& settings) -> std::string_view {
    for (const auto& format : foreign_formats()) {
      if (format.is(settings)) return format.name;
    }
    return "none";
  };
  const auto config = resolved(crammed_config());
  CHECK(name_of(json::parse(export_cramming(config, random_state(config)).settings)) == "cramming");
  CHECK(name_of(json::parse(exported_bert().settings)) == "bert");
  CHECK(name_of({{"model_type", "gpt2"}}) == "gpt2");
  CHECK(name_of({{"overrides", json::array()}}) == "authors");
  CHECK(name_of({{"model_type", "roberta"}}) == "none");
}

}  // namespace
}  // namespace skipless
