// skipless info --graph: how a block is wired.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using test::Result;

namespace {

/// Two layers of SAS, 16 wide.
const test::Workplace& place() {
  static const test::Workplace kPlace;
  return kPlace;
}

std::string graph_of(const std::string& arguments) {
  const Result result = place().run("\"$skipless\" info small.yaml --graph " + arguments);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  return result.out;
}

}  // namespace

TEST_CASE("info --graph prints the block in the middle for Graphviz, or that of a layer", "[program][info]") {
  const std::string sas = graph_of("");
  CHECK_THAT(sas, Catch::StartsWith("digraph \"sas\" {\n") && Catch::EndsWith("}\n"));
  CHECK_THAT(sas,
             Contains("skips=1; norms=2;") && Contains("feed_forward.w_1\\n16 × 24: 384") && Contains("beta_ff 0.3"));
  CHECK_THAT(sas, !Contains("attention.value"));
  CHECK_THAT(graph_of("--layer 0"), Contains("attention.value"));
  CHECK_THAT(graph_of("model.kind=bert"), Contains("skips=1; norms=2;"));
  CHECK_THAT(graph_of("model.block=sas_p model.norm=none"),
             Catch::StartsWith("digraph \"sas_p_nonorm\"") && Contains("skips=0; norms=0;"));
}

TEST_CASE("info refuses a layer that is not there, or is for nothing", "[program][info][mistakes]") {
  struct Mistake {
    const char* arguments;
    const char* said;
  };
  for (const auto& mistake :
       std::vector<Mistake>{Mistake{"--graph --layer 2", "--layer is 2, and the model has layers 0 to 1"},
                            Mistake{"--graph --layer -1", "--layer"}, Mistake{"--layer 1", "--graph"}}) {
    INFO(mistake.arguments);
    const Result result = place().run(std::string("\"$skipless\" info small.yaml ") + mistake.arguments);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains(mistake.said));
  }
  const Result full = place().run("\"$skipless\" info small.yaml --graph > /dev/full");
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Contains("cannot write to standard output: No space left on device"));
}

}  // namespace skipless
