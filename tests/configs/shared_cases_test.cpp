// The handed-out YAML files, read with the keys that they mean.
#include <catch2/catch.hpp>

#include "configs/config_file.h"
#include "tests/shared_folder.h"

namespace skipless::test {
namespace {

using Catch::Matchers::Contains;

struct CaseConfig {
  int64_t n_layer = 1;
  std::string norm = "rms_norm", block = "sas", name;
  bool tie = false;
  double lr = 1, learning_rate = 1, weight_decay = 0;
  int64_t seed = 0;

  struct Model {
    CaseConfig* all;
    void keys(Schema& s) {
      s.key("n_layer", all->n_layer, Range<int64_t>::at_least(1), "");
      s.key("norm", all->norm, {"rms_norm", "layer_norm", "none"}, "");
      s.key("block", all->block, {"pre_ln", "sas", "sas_p"}, "");
      s.key("tie", all->tie, "");
      s.key("name", all->name, "");
    }
  };
  struct Train {
    CaseConfig* all;
    void keys(Schema& s) {
      s.key("lr", all->lr, Range<double>::above(0), "");
      s.key("learning_rate", all->learning_rate, Range<double>::above(0), "");
      s.key("weight_decay", all->weight_decay, Range<double>::at_least(0), "");
      s.key("seed", all->seed, Range<int64_t>::any(), "");
    }
  };

  void keys(Schema& s) {
    Model model{this};
    Train train{this};
    s.section("model", model, "");
    s.section("train", train, "");
  }
  void resolve() {}
  void check(Problems&) const {}
};

struct NumbersConfig {
  double a = 0, b = 0, c = 0, d = 0, k = 0, l = 0, m = 0;
  int64_t e = 0, f = 0, g = 0, h = 0, i = 0, n = 0, o = 0;

  void keys(Schema& s) {
    const auto number = Range<double>::any();
    const auto integer = Range<int64_t>::any();
    s.key("a", a, number, "");
    s.key("b", b, number, "");
    s.key("c", c, number, "");
    s.key("d", d, number, "");
    s.key("e", e, integer, "");
    s.key("f", f, integer, "");
    s.key("g", g, integer, "");
    s.key("h", h, integer, "");
    s.key("i", i, integer, "");
    s.key("k", k, number, "");
    s.key("l", l, number, "");
    s.key("m", m, number, "");
    s.key("n", n, integer, "");
    s.key("o", o, Range<int64_t>::at_least(0), "");
  }
  void resolve() {}
  void check(Problems&) const {}
};

template <class Config>
std::string mistake_in(const std::filesystem::path& file) {
  try {
    read_config_file<Config>(file);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

const std::filesystem::path& cases() {
  static const std::filesystem::path folder = shared_folder() / "cases" / "yaml";
  return folder;
}

}  // namespace

TEST_CASE("handed-out case: misspelt keys", "[configs][shared]") {
  const std::filesystem::path path = cases() / "typo.yaml";
  SKIPLESS_NEEDS(path);
  const std::string text = mistake_in<CaseConfig>(path);
  CHECK_THAT(text, Contains("typo.yaml:2: model.n_layers: unknown key (did you mean 'n_layer'?)"));
  CHECK_THAT(text, Contains("typo.yaml:4: train.learning_rte: unknown key (did you mean 'learning_rate'?)"));
}

TEST_CASE("handed-out case: a key given twice", "[configs][shared]") {
  const std::filesystem::path path = cases() / "duplicate.yaml";
  SKIPLESS_NEEDS(path);
  CHECK_THAT(mistake_in<CaseConfig>(path), Contains("duplicate.yaml:4: train.lr: given 2 times, in lines 2, 4"));
}

TEST_CASE("handed-out case: words that look like truth values", "[configs][shared]") {
  const std::filesystem::path path = cases() / "norway.yaml";
  SKIPLESS_NEEDS(path);
  const std::string text = mistake_in<CaseConfig>(path);
  CHECK_THAT(text, Contains("3 problems:"));
  CHECK_THAT(text, Contains(":2: model.norm: unknown norm 'no'") && Contains("allowed: rms_norm, layer_norm, none"));
  CHECK_THAT(text, Contains(":3: model.block: unknown block 'off'"));
  CHECK_THAT(text, Contains(":4: model.tie: 'yes' is not a truth value; allowed: true or false"));
}

TEST_CASE("handed-out case: numbers in many forms", "[configs][shared]") {
  const std::filesystem::path path = cases() / "numbers.yaml";
  SKIPLESS_NEEDS(path);
  const std::string text = mistake_in<NumbersConfig>(path);
  INFO(text);
  CHECK_THAT(text, Contains("10 problems:"));
  for (const std::string key : {"e", "f", "g", "h", "i", "k", "l", "m", "n", "o"})
    CHECK_THAT(text, Contains(": " + key + ": '"));
  for (const std::string key : {"a", "b", "c", "d"}) CHECK_THAT(text, !Contains(": " + key + ": "));
}

}  // namespace skipless::test
