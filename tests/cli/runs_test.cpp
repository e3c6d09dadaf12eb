// skipless runs, and runs that are named by what they compute, as a user and the figures' scripts call them.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using test::Result;

TEST_CASE("runs lists what there is, compares two, and exports CSV", "[program][runs]") {
  const test::Workplace place;
  REQUIRE(place.prepared().code == 0);
  const Result made = place.run(R"(set -e
    "$skipless" train small.yaml --run store/one >/dev/null
    "$skipless" train small.yaml train.steps=30 model.block=pre_ln --run store/deep/two >/dev/null
    cp -r store/one store/stopped; rm -r store/stopped/checkpoints/step_000020
    cp -r store/one store/begun; rm -r store/begun/checkpoints
    printf '{"kind":"eval","step":null,"tokens":null}\n{"kind":"ev' >>store/begun/metrics.jsonl
    cp -r store/one store/broken; echo 'nonsense: 1' >>store/broken/config.yaml)");
  REQUIRE(made.code == 0);
  const Result table = place.run("\"$skipless\" runs store");
  CHECK(table.code == 0);
  CHECK_THAT(table.out, Contains("store/one       done      gpt   sas ") && Contains("2x16"));
  CHECK_THAT(table.out, Contains("store/deep/two  done      gpt   pre_ln "));
  CHECK_THAT(table.out, Contains("store/stopped   stopped   gpt"));
  CHECK_THAT(table.out, Contains("store/begun     begun     gpt"));
  CHECK_THAT(table.out, Contains("store/broken    unreadable: ") && Contains("nonsense"));

  const Result csv = place.run("\"$skipless\" runs --csv store/one store/deep");
  CHECK(csv.code == 0);
  CHECK_THAT(csv.out, Catch::StartsWith("run,state,kind,block,norm,n_layer,d_model,parameters,step,tokens,seconds,"
                                        "tokens_per_second,loss\nstore/one,done,gpt,sas,rms_norm,2,16,"));
  CHECK_THAT(csv.out, Contains(",20,2560,") && Contains("\nstore/deep/two,done,gpt,pre_ln,") && Contains(",30,3840,"));
  CHECK_THAT(place.run("\"$skipless\" runs --csv store/begun").out,
             Contains("store/begun,begun,") && Contains(",20,2560,"));
  const Result curves = place.run("\"$skipless\" runs --curves store/one");
  CHECK_THAT(curves.out, Catch::StartsWith("run,block,norm,step,tokens,seconds,loss\nstore/one,sas,rms_norm,10,1280,"));
  CHECK_THAT(curves.out, Contains("\nstore/one,sas,rms_norm,20,2560,"));

  const Result both = place.run("\"$skipless\" runs --compare store/one store/deep/two");
  CHECK(both.code == 0);
  CHECK_THAT(both.out, Contains("model.block: sas -> pre_ln\n") && Contains("train.steps: 20 -> 30\n") &&
                           Contains("more keys are in one of them only") && !Contains("model.sas."));
  CHECK_THAT(both.out, Contains("\n       10 ") && Contains("\n       20 ") && !Contains("\n       30 "));
  CHECK_THAT(place.run("\"$skipless\" runs --compare store/one store/one").out, Contains("the same config"));
}

TEST_CASE("runs says what is wrong with its arguments", "[program][runs]") {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& arguments) {
    const Result result = test::shell(folder.path(), "mkdir -p empty; \"$skipless\" runs " + arguments);
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK_THAT(refusal("empty"), Contains("no run in empty"));
  CHECK_THAT(refusal("none"), Contains("none: no such folder"));
  CHECK_THAT(refusal("--compare empty"), Contains("--compare needs two runs"));
  CHECK_THAT(refusal("--compare empty empty"), Contains("not the folder of a run"));
}

TEST_CASE("A store trains a config once and says where", "[program][runs]") {
  const test::Workplace place;
  REQUIRE(place.prepared().code == 0);
  const Result result = place.run(R"sh(set -e
    where=$("$skipless" train small.yaml --store "my store" --where)
    test ! -e "$where"
    "$skipless" train small.yaml --store "my store" >first.log
    test -d "$where/checkpoints/step_000020"
    "$skipless" train small.yaml --store "my store" train.threads=1 train.log_every=5 >second.log 2>&1
    test "$(ls "my store" | wc -l)" = 1
    test "$where" != "$("$skipless" train small.yaml --store "my store" train.seed=5 --where)"
    echo "$where")sh");
  CHECK(result.code == 0);
  CHECK_THAT(result.out, Catch::StartsWith("my store/sas-"));
  CHECK_THAT(place.text("second.log"), Contains("done"));
  for (const std::string arguments : {"small.yaml --where", "small.yaml --run a --store b", "--store b"}) {
    INFO(arguments);
    CHECK(place.run("\"$skipless\" train " + arguments).code == 2);
  }
}

}  // namespace skipless
