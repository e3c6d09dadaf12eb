// A BERT of another code's making, from its files to a run in use: what is wrong with them is said by convert, in their
// terms.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using nlohmann::json;
using test::Result;

namespace {

constexpr int64_t kWidth = 8, kInner = 16, kVocabulary = 9;

/// A masked language model of one layer as transformers writes it, with a tokenizer.
class SmallBert {
 public:
  explicit SmallBert(int64_t n_positions = 6) {
    config_ = {{"model_type", "bert"},
               {"vocab_size", kVocabulary},
               {"hidden_size", kWidth},
               {"num_hidden_layers", 1},
               {"num_attention_heads", 2},
               {"intermediate_size", kInner},
               {"max_position_embeddings", n_positions},
               {"type_vocab_size", 2}};
    add("bert.embeddings.word_embeddings.weight", {kVocabulary, kWidth});
    add("bert.embeddings.position_embeddings.weight", {n_positions, kWidth});
    add("bert.embeddings.token_type_embeddings.weight", {2, kWidth});
    add_map("bert.embeddings.LayerNorm", {kWidth});
    const std::string layer = "bert.encoder.layer.0.";
    for (const char* part : {"query", "key", "value"}) add_map(layer + "attention.self." + part, {kWidth, kWidth});
    add_map(layer + "attention.output.dense", {kWidth, kWidth});
    add_map(layer + "attention.output.LayerNorm", {kWidth});
    add_map(layer + "intermediate.dense", {kInner, kWidth});
    add_map(layer + "output.dense", {kWidth, kInner});
    add_map(layer + "output.LayerNorm", {kWidth});
    add_map("cls.predictions.transform.dense", {kWidth, kWidth});
    add_map("cls.predictions.transform.LayerNorm", {kWidth});
    add("cls.predictions.bias", {kVocabulary});
  }

  json& config() { return config_; }
  double& value(const std::string& tensor, size_t index) { return tensors_.at(tensor).values.at(index); }

  void round_to_float32() {
    for (auto& [name, tensor] : tensors_) {
      for (auto& value : tensor.values) value = static_cast<float>(value);
    }
  }

  /// With a pooler and a last map to 3 classes in the place of the head of a language model.
  void classify() {
    std::erase_if(tensors_, [](const auto& item) { return item.first.starts_with("cls."); });
    add_map("bert.pooler.dense", {kWidth, kWidth});
    add_map("classifier", {3, kWidth});
  }

  template <class Value>
  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    json header;
    std::string data;
    for (const auto& [name, tensor] : tensors_) {
      const auto begin = data.size();
      for (const double given : tensor.values) {
        const auto value = static_cast<Value>(given);
        data.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
      header[name] = {{"dtype", sizeof(Value) == 8 ? "F64" : "F32"},
                      {"shape", tensor.shape},
                      {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    std::string file(reinterpret_cast<const char*>(&length), sizeof length);
    file.append(text).append(data);
    test::write_text(folder / "model.safetensors", file);
    test::write_text(folder / "config.json", config_.dump());
    test::write_text(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\n");
  }

 private:
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<double> values;
  };

  void add(const std::string& name, const std::vector<int64_t>& shape) {
    Tensor tensor{.shape = shape, .values = {}};
    const auto size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    for (int64_t i = 0; i < size; ++i) tensor.values.push_back(std::sin(static_cast<double>(++drawn_)));
    tensors_[name] = tensor;
  }

  void add_map(const std::string& name, const std::vector<int64_t>& weight) {
    add(name + ".weight", weight);
    add(name + ".bias", {weight[0]});
  }

  json config_;
  std::map<std::string, Tensor> tensors_;
  int64_t drawn_ = 0;
};

/// convert in a folder of its own.
class Conversion {
 public:
  explicit Conversion(const SmallBert& bert) { bert.write<float>(folder_.path() / "bert"); }

  Result convert() const { return run("\"$skipless\" convert bert run"); }
  Result run(const std::string& script) const { return test::shell(folder_.path(), script); }
  bool made() const { return std::filesystem::exists(folder_.path() / "run"); }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

void check_refused(const Conversion& place, const std::string& why) {
  const Result result = place.convert();
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK_THAT(result.err, Contains(why));
  CHECK_FALSE(place.made());
}

}  // namespace

TEST_CASE("a converted BERT fills masks, and says so where its numbers are not finite", "[program][bert][convert]") {
  SmallBert bert;
  const Conversion sound(bert);
  REQUIRE(sound.convert().code == 0);
  const Result filled = sound.run("\"$skipless\" fill run 'a [MASK]' --top 9");
  INFO(filled.err);
  CHECK(filled.code == 0);
  CHECK_THAT(filled.out, Catch::StartsWith("1:  ") && !Contains("nan"));

  bert.value("cls.predictions.bias", 7) = std::numeric_limits<double>::quiet_NaN();
  const Conversion broken(bert);
  REQUIRE(broken.convert().code == 0);
  const Result result = broken.run("\"$skipless\" fill run 'a [MASK]'");
  CHECK(result.code == 1);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains("the logit of token 7 is nan: the model's numbers are not finite"));
}

TEST_CASE("settings with which the run could not be opened are refused by convert, by file and key",
          "[program][convert][mistakes]") {
  struct Mistake {
    const char* key;
    json value;
    const char* said;
  };
  for (const auto& mistake : std::vector<Mistake>{
           Mistake{"pad_token_id", -1, "bert/config.json: pad_token_id is -1"},
           Mistake{"pad_token_id", 0.5, "bert/config.json: pad_token_id is 0.5"},
           Mistake{"layer_norm_eps", -1, "layer_norm_eps (here model.norm_eps): '-1' is out of range"},
           Mistake{"hidden_dropout_prob", 1.0, "hidden_dropout_prob (here model.dropout.embedding)"},
           Mistake{"initializer_range", -5, "initializer_range (here model.init_std): '-5' is out of range; allowed"},
           Mistake{"num_hidden_layers", 1'000'000'000, "num_hidden_layers (here model.n_layer): '1000000000'"},
           Mistake{"num_hidden_layers", 9'999, "num_hidden_layers is 9999, but bert/model.safetensors holds"}}) {
    INFO(mistake.key);
    SmallBert bert;
    bert.config()[mistake.key] = mistake.value;
    check_refused(Conversion(bert), mistake.said);
  }
  // No setting by itself, but with what a run needs: one masked token a sequence.
  check_refused(Conversion(SmallBert(2)), "bert/config.json: data.masking.rate: 0.25 of a sequence of 2 tokens");
  for (const double dropout : {5.0, -1.0}) {
    SmallBert bert;
    bert.classify();
    bert.config()["classifier_dropout"] = dropout;
    check_refused(Conversion(bert), "bert/config.json: classifier_dropout (here head.dropout)");
  }
}

TEST_CASE("a config.json that JSON cannot hold is refused in its file's name", "[program][convert][mistakes]") {
  const Conversion place{SmallBert()};
  test::write_text(place.path() / "bert/config.json", R"({"model_type": "bert", "layer_norm_eps": 1e999})");
  check_refused(place, "bert/config.json: a number in it is beyond the largest double");
  test::write_text(place.path() / "bert/config.json", std::string(1'000'000, '['));
  check_refused(place, "bert/config.json: nested deeper than 64 levels");
}

TEST_CASE("float64 weights are taken where float32 holds them, else refused by their own name",
          "[program][convert][mistakes]") {
  const SmallBert bert;
  const Conversion place(bert);
  bert.write<double>(place.path() / "bert");
  check_refused(place, "bert/model.safetensors: tensor 'bert.embeddings.LayerNorm.bias' is float64");

  SmallBert rounded;
  rounded.round_to_float32();
  rounded.write<double>(place.path() / "bert");
  CHECK(place.convert().code == 0);
}

}  // namespace skipless
