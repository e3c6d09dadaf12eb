// skipless analyze, of a run and of a config.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using nlohmann::json;
using test::Result;

namespace {

/// A place with a run of 20 steps ("run"), made once: these tests only read it.
const test::Workplace& place() {
  static const test::Workplace kPlace("\"$skipless\" train small.yaml train.lr=0.02 train.warmup_steps=2 --run run");
  return kPlace;
}

json analyzed(const std::string& arguments) {
  const Result result = place().run("\"$skipless\" analyze " + arguments);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("a run is analyzed at its checkpoints, on text in its own tokens", "[program][analyze]") {
  const json last = analyzed("run --text source --sequences 3");
  CHECK(last["source"] == json{{"run", "run"}, {"step", 20}});
  CHECK(last["model"]["block"] == "sas");
  CHECK(last["text"] == json::array({"source"}));
  CHECK(last["sequences"] == 3);
  CHECK(last["length"] == 16);
  REQUIRE(last["layers"].size() == 2);
  CHECK(last["states"].size() == 3);
  CHECK(last["layers"][1]["p"]["singular_values"][1].size() == 16);
  CHECK(last["layers"][0]["value"]["distance_from_init"] > 0);
  const json earlier = analyzed("run --text source --sequences 3 --checkpoint 10");
  CHECK(earlier["source"]["step"] == 10);
  CHECK(earlier["layers"][0]["value"]["distance_from_init"] != last["layers"][0]["value"]["distance_from_init"]);
  CHECK(analyzed("run --text source/part_1.py --sequences 3")["states"] != last["states"]);
}

TEST_CASE("a config is analyzed as its training would begin", "[program][analyze]") {
  const json start = analyzed("small.yaml --text source --length 8");
  CHECK(start["source"]["config"] == "small.yaml");
  CHECK(start["sequences"] == 8);
  CHECK(start["length"] == 8);
  CHECK(start["layers"][1]["p"]["stable_rank"][0].get<double>() == Approx(8).epsilon(1e-12));  // SAS: P = I
  CHECK(start["layers"][0]["gains"]["attention.shape.gamma"] == json::array({1, 1}));
  CHECK(analyzed("small.yaml --text source --length 8") == start);
  CHECK(analyzed("small.yaml train.seed=1 --text source --length 8")["states"] != start["states"]);
  const json pre_ln = analyzed("small.yaml model.block=pre_ln --random-tokens");
  CHECK(pre_ln["source"]["overrides"] == json::array({"model.block=pre_ln"}));
  CHECK(pre_ln["text"] == "random tokens");
  CHECK(pre_ln["layers"][1]["projection"]["singular_values"].size() == 16);
  const json bert = analyzed("small.yaml model.kind=bert --random-tokens --sequences 2");
  CHECK(bert["model"]["kind"] == "bert");
  // In an encoder A = C has rank one at the start.
  CHECK(bert["layers"][1]["a"]["stable_rank"][0].get<double>() == Approx(1).epsilon(1e-12));
}

TEST_CASE("analyze refuses what it cannot analyze, with code 2 and the reason", "[program][analyze][mistakes]") {
  struct Mistake {
    const char* arguments;
    const char* said;
  };
  for (const auto& mistake : std::vector<Mistake>{
           Mistake{"run", "--text FILE or --random-tokens is needed"},
           Mistake{"run --text source --random-tokens", "excludes"},
           Mistake{"run model.block=sas --random-tokens", "'model.block=sas': a run's config is not changed"},
           Mistake{"run --random-tokens --checkpoint 11",
                   "no checkpoint '11'; there are last, best and the steps 10, 20"},
           Mistake{"small.yaml --random-tokens --checkpoint 10",
                   "--checkpoint is for a run, and 'small.yaml' is a config"},
           Mistake{"source --random-tokens", "source"}, Mistake{"none.yaml --random-tokens", "none.yaml"},
           Mistake{"model.block=sas --random-tokens", "a run or a config is needed"},
           Mistake{"small.yaml model.block=sa --random-tokens", "sas"},
           Mistake{"small.yaml data.folder=gone --text source", "no gone/tokenizer.json; give it with --tokenizer"},
           Mistake{"small.yaml model.vocab_size=100 --text source", "the model's vocabulary has 100"},
           Mistake{"small.yaml --text none.py", "none.py"},
           Mistake{"small.yaml --text source --length 17", "--length is 17, and the model has 16 positions"},
           Mistake{"small.yaml --text source --length 1", "--length"},
           Mistake{"small.yaml --text source --sequences 0", "--sequences"},
           Mistake{"small.yaml --text small.yaml --sequences 60000", "and 60000 are wanted"}}) {
    INFO(mistake.arguments);
    const Result result = place().run(std::string("\"$skipless\" analyze ") + mistake.arguments);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains(mistake.said));
    CHECK(result.err.starts_with("error: "));
  }
  const Result full = place().run("\"$skipless\" analyze small.yaml --random-tokens > /dev/full");
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Contains("cannot write to standard output: No space left on device"));
}

}  // namespace skipless
