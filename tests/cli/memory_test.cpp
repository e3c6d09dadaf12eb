// A run that does not fit in memory: what is said, and what is left.
#include <catch2/catch.hpp>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using test::Result;
using test::Workplace;

TEST_CASE("a micro-batch that does not fit ends the run with the next smaller one to type, which continues it",
          "[memory]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  // One sequence in the first step, all 6 in the second: 1.2 GB for each of a layer's activations, and some GB more
  // than the limit for all of them. What is mapped before (libraries) is 3 GB at most.
  const std::string start =
      "\"$skipless\" train small.yaml train.steps=2 train.warmup_steps=0 train.batch_size=6 train.micro_batch=6 "
      "train.batch_start=1 train.batch_ramp=0.3 train.eval_every=0 train.save_every=1 model.context_length=1024 "
      "model.d_model=2 model.n_head=1 model.d_ff=50000 --run run";
  const Result failed = place.run("ulimit -v 6000000; " + start);
  CHECK(failed.code == 1);
  CHECK_THAT(failed.err, Contains("error: out of memory after step 1 with train.micro_batch 6 (peak ") &&
                             Contains("train.micro_batch=3 needs less and gives the same steps of 6 sequences"));
  CHECK(place.run("ls run/checkpoints").out == "step_000001\n");
  const Result smaller = place.run("ulimit -v 6000000; \"$skipless\" train --run run train.micro_batch=1");
  INFO(smaller.err);
  CHECK(smaller.code == 0);
  CHECK_THAT(smaller.out, Contains("continuing after step 1"));
}

}  // namespace skipless
