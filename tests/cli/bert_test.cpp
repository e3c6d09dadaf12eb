// A masked language model from text to use, as a user would have it.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using nlohmann::json;
using test::Result;

namespace {

/// A place with a run of 20 steps ("bert") on WordPiece tokens, made once: these tests only read it.
const test::Workplace& place() {
  static const test::Workplace kPlace(fmt::format(
      "\"$skipless\" prepare source --glob '*.py' --validation-fraction 0.25 "
      "--tokenizer '{}/data/tokenizers/english_8192' --out words &&"
      "\"$skipless\" train small.yaml model.kind=bert model.vocab_size=8192 data.folder=words data.chunking=packed "
      "train.lr=0.02 train.warmup_steps=2 --run bert",
      SKIPLESS_SOURCE_DIR));
  return kPlace;
}

Result fill(const std::string& arguments) {
  return place().run("\"$skipless\" fill bert " + arguments);
}

}  // namespace

TEST_CASE("eval gives the loss of the masked tokens that the run reported", "[program][bert]") {
  const Result result = place().run("\"$skipless\" eval bert --tokens 512 --json");
  INFO(result.err);
  REQUIRE(result.code == 0);
  const auto figures = json::parse(result.out);
  CHECK(figures.at("predicted_tokens") == 512 / 4);
  CHECK_FALSE(figures.contains("perplexity"));
  CHECK(figures.at("masked_perplexity").get<double>() == Approx(std::exp(figures.at("loss").get<double>())));
  const std::string metrics = place().text("bert/metrics.jsonl");
  double reported = 0;
  for (size_t start = 0; start < metrics.size(); start = metrics.find('\n', start) + 1) {
    const auto line = json::parse(metrics.substr(start, metrics.find('\n', start) - start));
    if (line.at("kind") == "eval") reported = line.at("loss");
  }
  CHECK(figures.at("loss").get<double>() == Approx(reported).epsilon(1e-9));
  const Result text = place().run("\"$skipless\" eval bert --tokens 512");
  CHECK_THAT(text.out, Contains("(128 masked tokens, step 20)"));
}

TEST_CASE("fill shows the most probable tokens of every mask", "[program][bert]") {
  const Result result = fill("'Return [MASK] + y - [MASK]' --top 3");
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  CHECK_THAT(result.out, Catch::StartsWith("1:  ") && Contains("\n2:  "));
  double last = 1, sum = 0;
  size_t tokens = 0;
  const std::string first = result.out.substr(0, result.out.find('\n'));
  for (size_t at = first.find("  "); at != std::string::npos; at = first.find("  ", at + 2), ++tokens) {
    const double probability = std::stod(first.substr(first.find(' ', at + 2)));
    CHECK(probability <= last);
    last = probability;
    sum += probability;
  }
  CHECK(tokens == 3);
  CHECK(sum <= 1);
}

TEST_CASE("fill and masked runs refuse what they cannot do, with code 2", "[program][bert][mistakes]") {
  const auto refused = [](const Result& result, const std::string& why) {
    CHECK(result.code == 2);
    CHECK_THAT(result.err, Contains(why));
  };
  refused(fill("'no mask here'"), "the text has no [MASK]");
  refused(fill("'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen [MASK] end'"),
          "more than the model's 16 positions");
  refused(fill("$'\\xff [MASK]'"), "UTF-8");
  refused(place().run("\"$skipless\" generate bert --prompt x"), "causal");
  refused(place().run("\"$skipless\" eval bert --text source"), "causal");
  refused(place().run("\"$skipless\" train small.yaml model.kind=bert --run other"), "[MASK]");
  refused(place().run("\"$skipless\" train small.yaml data.masking.rate=0.15 --run other"), "data.masking.rate");
  CHECK_FALSE(place().exists("other"));
}

}  // namespace skipless
