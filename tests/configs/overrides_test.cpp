// "key.path=value" arguments: the same strictness as the file, with the command line as the place.
#include <string>

#include <catch2/catch.hpp>

#include "tests/configs/sample_config.h"

namespace skipless::test {

using Catch::Matchers::Contains;

namespace {
constexpr const char* kFile = "model:\n  n_layer: 4\n";
}

TEST_CASE("an override replaces what the file says, or the default", "[configs][overrides]") {
  const SampleConfig config =
      parse(kFile, {"model.n_layer=6", "model.shape=square", "train.decay=null", "name=a = b # c", "files=[x, 'y z']"});
  CHECK(config.model.n_layer == 6);
  CHECK(config.model.shape == Shape::square);
  CHECK_FALSE(config.train.decay);
  CHECK(config.name == "a = b # c");
  CHECK(config.files == std::vector<std::string>{"x", "y z"});
}

TEST_CASE("text of an override is taken literally unless it is in quotes", "[configs][overrides]") {
  for (const std::string text : {"*.py", "!important", "&a", "a: b", "- a", "no", "|", "#1", "C:\\x", " a "}) {
    CHECK(parse(kFile, {"name=" + text}).name == text);
  }
  CHECK(parse(kFile, {"name=\"\""}).name.empty());
  CHECK(parse(kFile, {"name='null'"}).name == "null");
  CHECK(parse(kFile, {"files=[]"}).files.empty());
}

TEST_CASE("an override's value goes through the same typed reading", "[configs][overrides]") {
  CHECK(mistake(kFile, {"model.n_layer=010"}) ==
        "command line: 'model.n_layer=010': '010' has a leading zero; allowed: an integer from 1 to 100");
  CHECK_THAT(mistake(kFile, {"model.n_layer='4'"}), Contains("'4' is text, as it stands in quotes"));
  CHECK_THAT(mistake(kFile, {"model.tied=yes"}), Contains("'yes' is not a truth value; allowed: true or false"));
  CHECK_THAT(mistake(kFile, {"model.shape=sqare"}), Contains("did you mean 'square'?"));
  CHECK_THAT(mistake(kFile, {"train.learning_rate=.inf"}), Contains("is not a finite number"));
  CHECK_THAT(mistake(kFile, {"train.learning_rate=-1"}), Contains("out of range; allowed: a number above 0"));
  CHECK_THAT(mistake(kFile, {"train.seed=null"}), Contains("null, but this key always has a value"));
  CHECK_THAT(mistake(kFile, {"name=[a]"}), Contains("a list, where one value is expected"));
  CHECK_THAT(mistake(kFile, {"name={a: 1}"}), Contains("a section, where one value is expected"));
  CHECK_THAT(mistake(kFile, {"files=a"}), Contains("'a' is not a list"));
  CHECK_THAT(mistake(kFile, {"files=[a"}),
             Contains("command line: 'files=[a': value:1:") && Contains("not valid YAML"));
  CHECK_THAT(mistake(kFile, {"files=[&a b]"}), Contains("an anchor (&a)"));
  CHECK_THAT(mistake(kFile, {"name=\xFF"}), Contains("command line: 'name=\\xff': not valid UTF-8"));
}

TEST_CASE("malformed overrides are refused", "[configs][overrides]") {
  const std::vector<std::pair<std::string, std::string>> cases = {{"model.n_layer", "no '='"},
                                                                  {"", "no '='"},
                                                                  {"=4", "no key before '='"},
                                                                  {"=", "no key before '='"},
                                                                  {"model.n_layer=", "no value"},
                                                                  {"model..n_layer=4", "a '.' with no name beside it"},
                                                                  {".name=a", "a '.' with no name"},
                                                                  {"name.=a", "a '.' with no name"},
                                                                  {"model.n_layer =4", "a blank in the key"},
                                                                  {"--name=a", "unknown key"}};
  for (const auto& [argument, problem] : cases) {
    INFO(argument);
    CHECK_THAT(mistake(kFile, {argument}), Contains("command line: '" + argument + "': ") && Contains(problem));
  }
}

TEST_CASE("repeated overrides are refused, equal or not", "[configs][overrides]") {
  CHECK(mistake(kFile, {"model.n_layer=6", "model.n_layer=8"}) ==
        "command line: 'model.n_layer=8': repeated: the key is already given by 'model.n_layer=6'");
  CHECK_THAT(mistake(kFile, {"name=a", "name=a"}), Contains("repeated"));
}

TEST_CASE("overrides of unknown keys and of sections are refused", "[configs][overrides]") {
  CHECK_THAT(mistake(kFile, {"model.n_layers=6"}), Contains("unknown key (did you mean 'n_layer'?)"));
  CHECK_THAT(mistake(kFile, {"modle.n_layer=6"}), Contains("belongs in section model, as model.n_layer"));
  CHECK_THAT(mistake(kFile, {"n_layer=6"}), Contains("belongs in section model, as model.n_layer"));
  CHECK_THAT(mistake(kFile, {"name.first=a"}), Contains("'name' is one value, not a section"));
  CHECK_THAT(mistake(kFile, {"model={n_layer: 6}"}), Contains("a section; give its keys one by one"));
  CHECK_THAT(mistake(kFile, {"model=null"}), Contains("a section; give its keys one by one"));
}

TEST_CASE("mistakes of the file and of the command line come together, the file's first", "[configs][overrides]") {
  const std::string text =
      mistake("model:\n  n_layer: x\n", {"train.decay=2", "nonsense", "model.n_layer=4", "zzzz_zzzz=1"});
  CHECK(text.substr(0, text.find('\n')) == "4 problems:");
  CHECK(text.find("sample.yaml:2: model.n_layer") < text.find("command line: 'nonsense'"));
  CHECK_THAT(text,
             Contains("command line: 'train.decay=2': '2' is out of range") && Contains("'zzzz_zzzz=1': unknown"));
}

TEST_CASE("overrides are checked even where the file is no YAML", "[configs][overrides]") {
  CHECK_THAT(mistake("name: [\n", {"model.n_layer=x"}),
             Contains("not valid YAML") && Contains("'x' is not an integer"));
}

}  // namespace skipless::test
