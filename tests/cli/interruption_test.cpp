// What a run survives: signals, kill -9, full disks, a second process, damaged checkpoints.
#include <catch2/catch.hpp>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using test::Result;
using test::Workplace;

namespace {

constexpr const char* kModel = "model.safetensors";

std::string bytes_of(const Workplace& place, const std::string& run, int step) {
  return place.text(fmt::format("{}/checkpoints/step_{:06}/{}", run, step, kModel));
}

}  // namespace

TEST_CASE("SIGINT and SIGTERM save, say so, and end with 130 and 143; the run continues to the same end",
          "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const std::string signal = GENERATE("INT", "TERM");
  // Long enough to be stopped, whatever the machine; save_every is beyond what is reached.
  const std::string start =
      "\"$skipless\" train small.yaml train.steps=3000 train.save_every=0 train.eval_every=0 "
      "train.log_every=1 --run run";
  // A shell starts background commands with SIGINT ignored; the program takes it anyway.
  const Result stopped = place.run(start + fmt::format(" > log & pid=$!\n"
                                                       "for i in $(seq 600); do grep -q '\"kind\":\"train\"' "
                                                       "run/metrics.jsonl 2>/dev/null && break; sleep 0.05; done\n"
                                                       "kill -{} $pid; wait $pid",
                                                       signal));
  INFO(stopped.err);
  CHECK(stopped.code == (signal == "INT" ? 130 : 143));
  CHECK_THAT(place.text("log"), Contains("stopped by SIG" + signal) && Contains("saved"));
  const Result checkpoints = place.run("ls run/checkpoints");
  CHECK_THAT(checkpoints.out, Contains("step_"));
  const Result resumed = place.run("timeout -s TERM 3 \"$skipless\" train --run run train.log_every=100");
  CHECK_THAT(resumed.out, Contains("continuing after step"));
}

TEST_CASE("a run killed again and again around its saves ends as an unbroken one", "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const std::string settings = "train.steps=40 train.save_every=1 train.eval_every=0 train.keep_checkpoints=2";
  const Result unbroken = place.run("\"$skipless\" train small.yaml " + settings + " --run unbroken");
  REQUIRE(unbroken.code == 0);
  // Each round lets a few saves happen and kills at another moment of one.
  const Result killed = place.run(
      "for round in 1 2 3 4 5 6; do\n"
      "  \"$skipless\" train small.yaml " +
      settings +
      " --run killed > log 2>&1 & pid=$!\n"
      "  before=$(ls killed/checkpoints 2>/dev/null | tail -n 1)\n"
      "  for i in $(seq 400); do\n"
      "    now=$(ls killed/checkpoints 2>/dev/null | tail -n 1); [ \"$now\" != \"$before\" ] && break; sleep 0.02\n"
      "  done\n"
      "  sleep 0.0$((round * 13 % 10))\n"
      "  kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null\n"
      "done\n"
      "\"$skipless\" train small.yaml " +
      settings + " --run killed");
  INFO(killed.err);
  CHECK(killed.code == 0);
  CHECK_THAT(killed.err, !Contains("truncated") && !Contains("corrupt"));
  REQUIRE_FALSE(bytes_of(place, "unbroken", 40).empty());
  CHECK(bytes_of(place, "killed", 40) == bytes_of(place, "unbroken", 40));
  CHECK(place.run("ls killed/checkpoints").out == "step_000039\nstep_000040\n");
}

TEST_CASE("without room for a checkpoint the older one stays, training goes on, and the end says so",
          "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  REQUIRE(place.run("\"$skipless\" train small.yaml --run run && rm -r run/checkpoints/step_000020").code == 0);
  // 100 KiB; the model takes more.
  const Result full = place.run("ulimit -f 100; \"$skipless\" train small.yaml train.save_every=5 --run run");
  INFO(full.err);
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Contains("File too large") && Contains("untouched") && Contains("step 20 could not be saved"));
  CHECK_THAT(full.out, Contains("step 20/20"));
  CHECK(place.run("ls run/checkpoints").out == "step_000010\n");
  const Result after = place.run("\"$skipless\" train small.yaml --run run && ls run/checkpoints");
  CHECK(after.code == 0);
  CHECK_THAT(after.out, Contains("continuing after step 10") && Contains("step_000020"));
}

TEST_CASE("a file in the place of the checkpoint folder is reported, and nothing is lost", "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const Result run = place.run("mkdir run; echo text > run/checkpoints; \"$skipless\" train small.yaml --run run");
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Contains("run/checkpoints") && Contains("Not a directory"));
  CHECK(place.text("run/checkpoints") == "text\n");
  CHECK(place.run("ls run").out == "checkpoints\n");
}

TEST_CASE("two processes do not train in one folder", "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const std::string start = "\"$skipless\" train small.yaml train.steps=3000 --run run";
  const Result both =
      place.run(start +
                " > log & pid=$!\n"
                "for i in $(seq 600); do grep -q train run/metrics.jsonl 2>/dev/null && break; sleep 0.05; done\n" +
                start + "; code=$?; kill -9 $pid; wait $pid 2>/dev/null; exit $code");
  CHECK(both.code == 2);
  CHECK_THAT(both.err, Contains("another process is training in this folder"));
}

TEST_CASE("a damaged checkpoint is passed over by train, and named by eval with the one to use", "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  REQUIRE(place.run("\"$skipless\" train small.yaml --run run").code == 0);
  const std::string whole = bytes_of(place, "run", 20);
  REQUIRE(place.run("truncate -s -1 run/checkpoints/step_000020/model.safetensors").code == 0);
  const Result eval = place.run("\"$skipless\" eval run");
  CHECK(eval.code == 2);
  CHECK_THAT(eval.err, Contains("model.safetensors") && Contains("truncated") && Contains("step_000010 can be used"));
  CHECK(place.run("\"$skipless\" eval run --checkpoint 10").code == 0);
  const Result train = place.run("\"$skipless\" train --run run");
  CHECK(train.code == 0);
  CHECK_THAT(train.err, Contains("warning") && Contains("truncated"));
  CHECK_THAT(train.out, Contains("continuing after step 10"));
  CHECK(bytes_of(place, "run", 20) == whole);
}

TEST_CASE("a terminal gets a bar that is rewritten in place", "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  if (place.run("command -v script").code != 0) {
    SUCCEED("no 'script' here to make a terminal");
    return;
  }
  const Result bar = place.run("export skipless; script -qec '\"$skipless\" train small.yaml --run bar' /dev/null");
  CHECK(bar.code == 0);
  CHECK_THAT(bar.out, Contains("\r\x1b[K[#") && Contains("ETA 0:0"));
}

TEST_CASE("a run that is killed before its first save starts again by itself", "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const Result killed = place.run(
      "\"$skipless\" train small.yaml train.steps=3000 train.save_every=0 train.eval_every=0 --run run > log & pid=$!\n"
      "for i in $(seq 600); do grep -q train run/metrics.jsonl 2>/dev/null && break; sleep 0.05; done\n"
      "kill -9 $pid; wait $pid 2>/dev/null; ls run");
  CHECK_THAT(killed.out, !Contains("checkpoints"));
  const Result again = place.run("\"$skipless\" train small.yaml --run run");
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK_THAT(again.err, Contains("metrics.jsonl.old") && Contains("train.steps is 3000 in the run, 20 now"));
  CHECK(place.exists("run/metrics.jsonl.old"));
  CHECK(place.exists("run/checkpoints/step_000020/state.json"));
}

TEST_CASE("a log without room is said once, and training goes on", "[interruption]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  // 16 KiB are enough for the config and the metrics of a few steps, and not for what was in the log before.
  const Result full = place.run(
      "mkdir run; head -c 16384 /dev/zero > run/train.log; ulimit -f 16\n"
      "\"$skipless\" train small.yaml train.steps=2 train.eval_every=0 train.warmup_steps=0 --run run 2> err; cat err");
  CHECK(full.out.find("warning: the log is not complete") != std::string::npos);
  CHECK(full.out.find("warning: the log is not complete") == full.out.rfind("warning: the log is not complete"));
}

}  // namespace skipless
