// Written configs read back to equal ones; the list of keys; what differs between two configs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <catch2/catch.hpp>

#include "configs/yaml_text.h"
#include "tests/configs/sample_config.h"

namespace skipless::test {
namespace {

using Catch::Matchers::Contains;

// Equal to the last bit: -0 and 0 differ.
bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

void check_equal(const SampleConfig& a, const SampleConfig& b) {
  CHECK(a.name == b.name);
  CHECK(a.files == b.files);
  CHECK(a.model.n_layer == b.model.n_layer);
  CHECK(a.model.n_head == b.model.n_head);
  CHECK(same_bits(a.model.gain, b.model.gain));
  CHECK(a.model.tied == b.model.tied);
  CHECK(a.model.shape == b.model.shape);
  CHECK(a.model.norm == b.model.norm);
  CHECK(same_bits(a.model.form.bend, b.model.form.bend));
  CHECK(same_bits(a.train.learning_rate, b.train.learning_rate));
  CHECK(a.train.decay == b.train.decay);
  CHECK(a.train.warmup == b.train.warmup);
  CHECK(a.train.fused == b.train.fused);
  CHECK(a.train.note == b.train.note);
  CHECK(a.train.seed == b.train.seed);
}

std::string random_text(std::mt19937_64& random) {
  static const std::vector<std::string> kPieces = {"a",
                                                   "B",
                                                   "no",
                                                   "null",
                                                   "~",
                                                   "1e3",
                                                   "0",
                                                   " ",
                                                   "\n",
                                                   "\t",
                                                   "\r",
                                                   "\"",
                                                   "'",
                                                   "\\",
                                                   ":",
                                                   ": ",
                                                   "#",
                                                   " #",
                                                   "-",
                                                   "- ",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   ",",
                                                   "&",
                                                   "*",
                                                   "!",
                                                   "|",
                                                   ">",
                                                   "%",
                                                   "@",
                                                   "`",
                                                   "?",
                                                   "<<",
                                                   "---",
                                                   "...",
                                                   "\x01",
                                                   "\x7F",
                                                   "\xC2\x85",
                                                   "\xE2\x80\xA8",
                                                   "\xEF\xBB\xBF",
                                                   "\xC3\xA9",
                                                   "\xE6\xBC\xA2",
                                                   "\xF0\x9F\x98\x80",
                                                   "/",
                                                   ".",
                                                   "_"};
  std::string text;
  for (auto n = random() % 6; n > 0; --n) text += kPieces[random() % kPieces.size()];
  return text;
}

// Any finite double: random bits, so that tiny and huge ones come as often as others.
double random_double(std::mt19937_64& random) {
  for (;;) {
    const uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) return value;
  }
}

}  // namespace

TEST_CASE("a written config is plain YAML in the order of its keys", "[configs][writer]") {
  SampleConfig config;
  config.files = {"a.txt", "b c"};
  config.train.note = "no";
  CHECK(write_config(config) ==
        "name: sample\n"
        "files: [a.txt, \"b c\"]\n"
        "model:\n"
        "  n_layer: 4\n"
        "  n_head: 2\n"
        "  gain: 1.5\n"
        "  tied: true\n"
        "  shape: round\n"
        "  norm: rms\n"
        "train:\n"
        "  learning_rate: 0.001\n"
        "  decay: null\n"
        "  warmup: null\n"
        "  fused: null\n"
        "  note: \"no\"\n"
        "  seed: 0\n");
}

TEST_CASE("a section that is not chosen is read and not written", "[configs][writer]") {
  SampleConfig config = parse("model: {form: {bend: 7}}");
  CHECK(config.model.form.bend == 7);
  CHECK_THAT(write_config(config), !Contains("form"));
  config.model.shape = Shape::free_form;
  CHECK_THAT(write_config(config), Contains("\n  form:\n    bend: 7\n"));
}

TEST_CASE("a section without written keys is left out, and a config without any is two braces", "[configs][writer]") {
  struct Hollow {
    ModelSample inner;
    struct Empty {
      void keys(Schema&) {}
    } empty;
    void keys(Schema& s) {
      s.section("empty", empty, "nothing in it");
      s.section("inner", inner, "not written", false);
    }
    void resolve() {}
    void check(Problems&) const {}
  };
  CHECK(write_config(Hollow{}) == "{}\n");
  CHECK_NOTHROW(parse_config<Hollow>(write_config(Hollow{}), "hollow.yaml"));
}

TEST_CASE("texts that YAML would take for something else are quoted", "[configs][writer]") {
  for (const std::string text :
       {"no", "Yes", "1e3", "", "null", "~", "true", "0x1", "-", "a b", "a: b", "#", ".5", "y"}) {
    CHECK(yaml_text(text) == '"' + text + '"');
  }
  for (const std::string text : {"abc", "/data/x-1.txt", "_a", "sas_p", "nothing"}) CHECK(yaml_text(text) == text);
  CHECK(yaml_text("a\"b\\c\n\x1B") == R"("a\"b\\c\n\x1b")");
}

TEST_CASE("texts that no YAML file can hold are refused", "[configs][writer]") {
  using namespace std::string_literals;
  CHECK_THROWS_AS(yaml_text("\xFF"), UserError);
  CHECK_THROWS_AS(yaml_text("a\0b"s), UserError);
}

TEST_CASE("random configs read back equal to the last bit", "[configs][writer]") {
  std::mt19937_64 random(20240607);
  for (int i = 0; i < 500; ++i) {
    SampleConfig config;
    config.name = random_text(random);
    for (auto n = random() % 4; n > 0; --n) config.files.push_back(random_text(random));
    config.model.n_layer = static_cast<int64_t>(1 + random() % 100);
    config.model.n_head = 1;
    config.model.gain = random_double(random);
    config.model.tied = random() % 2 == 0;
    config.model.shape = static_cast<Shape>(random() % 3);
    config.model.norm = random() % 2 == 0 ? "none" : "layer";
    if (config.model.shape == Shape::free_form) config.model.form.bend = std::abs(random_double(random));
    config.train.learning_rate = std::max(std::abs(random_double(random)), 5e-324);
    if (random() % 2 == 0) config.train.decay = static_cast<double>(random() % 1000) / 1001;
    config.train.warmup = static_cast<int64_t>(random() >> 1);
    if (random() % 2 == 0) config.train.fused = random() % 2 == 0;
    if (random() % 2 == 0) config.train.note = random_text(random);
    config.train.seed = static_cast<int64_t>(random());
    const std::string text = write_config(config);
    INFO(text);
    check_equal(parse(text), config);
    CHECK(write_config(parse(text)) == text);
  }
}

TEST_CASE("signed zero and the smallest numbers survive", "[configs][writer]") {
  SampleConfig config;
  config.train.warmup = 1;
  for (const double value : {0.0, -0.0, 5e-324, 2.2250738585072014e-308, 0.1, 1.0 / 3, 1e22, 123456789012345680.0}) {
    config.model.gain = value;
    check_equal(parse(write_config(config)), config);
  }
}

TEST_CASE("a number that is not finite is a programmer's mistake", "[configs][writer]") {
  SampleConfig config;
  config.model.gain = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(write_config(config), std::logic_error);
}

TEST_CASE("the list of keys has path, what is allowed, default and help", "[configs][writer]") {
  const std::string text = describe_config<SampleConfig>();
  CHECK_THAT(text, Contains("model.n_layer        an integer from 1 to 100; default 4; number of layers\n"));
  CHECK_THAT(text, Contains("model.shape          round, square, free_form; default round; which shape\n"));
  CHECK_THAT(text, Contains("model.form.bend      a number; default 0.25; how far a free form bends\n"));
  CHECK_THAT(text, Contains("train.decay          a number at least 0 and below 1, or null; default null; weight"));
}

TEST_CASE("a config with a key given twice is not compared", "[configs][compare]") {
  CHECK_THROWS_WITH(compare_configs("a: 1\n", "a: 1\na: 2\n"), Contains("second config:2: a: given 2 times"));
}

TEST_CASE("configs are compared key by key", "[configs][compare]") {
  CHECK(compare_configs("a: 1\nb: {c: x}\n", "b:\n  c: x\na: 1\n").empty());
  const auto differences = compare_configs("a: 1\nb: {c: x, d: [p, 'q r']}\nn: null\ns: \"null\"\ne: {}\n",
                                           "a: 2\nb: {d: [p]}\nn: 5\nz: \"1\"\ns: null\n");
  const std::vector<std::vector<std::string>> expected = {
      {"a", "1", "2"},           {"b.c", "x", "(absent)"}, {"b.d", "[p, \"q r\"]", "[p]"}, {"n", "null", "5"},
      {"s", "\"null\"", "null"}, {"e", "{}", "(absent)"},  {"z", "(absent)", "\"1\""}};
  REQUIRE(differences.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(std::vector<std::string>{differences[i].path, differences[i].left, differences[i].right} == expected[i]);
  }
  CHECK_THROWS_AS(compare_configs("a: [", "a: 1"), UserError);
}

}  // namespace skipless::test
