// Configs that no file was read for: refused are the same values that a file could not have.
#include "configs/config_check.h"

#include <string>

#include <catch2/catch.hpp>

#include "tests/configs/sample_config.h"

namespace skipless::test {
namespace {

std::string problems_text(SampleConfig config) {
  const Problems problems = problems_of(config);
  std::string text;
  for (const auto& [path, message] : problems.all()) text += path + ": " + message + "\n";
  return text;
}

}  // namespace

TEST_CASE("a config in its ranges has no problem, and comes out resolved and otherwise as it was", "[configs]") {
  SampleConfig config;
  config.name = "a: 'b' # \xC3\xBC";
  config.files = {"", "- x"};
  config.model.n_layer = 6;
  config.model.gain = 0.1 + 0.2;
  config.train.note = "null";
  const auto text = write_config(config);
  CHECK(problems_of(config).empty());
  CHECK(config.train.warmup == 60);
  config.train.warmup.reset();
  CHECK(write_config(config) == text);
}

TEST_CASE("values that their keys do not allow are all named, before anything is resolved", "[configs]") {
  SampleConfig config;
  config.model.n_layer = 101;
  config.model.norm = "batch";
  config.train.learning_rate = 0;
  config.train.decay = 1;
  config.model.n_head = 3;  // a contradiction, which waits
  CHECK(problems_text(config) ==
        "model.n_layer: '101' is out of range; allowed: an integer from 1 to 100\n"
        "model.norm: unknown norm 'batch'; allowed: rms, layer, none\n"
        "train.learning_rate: '0' is out of range; allowed: a number above 0\n"
        "train.decay: '1' is out of range; allowed: a number at least 0 and below 1, or null\n");
  problems_of(config);
  CHECK_FALSE(config.train.warmup);
}

TEST_CASE("contradictions and what was filled in are checked where the values are allowed", "[configs]") {
  SampleConfig config;
  config.model.n_head = 3;
  CHECK(problems_text(config) == "model.n_head: 3 does not divide 4\n");
  config.model.n_head = 1;
  config.model.form.bend = -1;  // of a section that is not written
  CHECK(problems_text(config) == "model.form.bend: a form cannot bend backwards\n");
}

}  // namespace skipless::test
