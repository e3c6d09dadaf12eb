// skipless bench, as a user and as scripts/bench_peers.sh call it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using test::Result;

namespace {

constexpr const char* kConfig =
    "model: {block: sas_p, n_layer: 1, d_model: 16, n_head: 2, d_ff: 24, vocab_size: 64, context_length: 16}\n"
    "data: {folder: nowhere}\n"
    "train: {batch_size: 4, threads: 1}\n";

Result bench(const test::TemporaryFolder& folder, const std::string& arguments, const std::string& before = "") {
  test::write_text(folder.path() / "c.yaml", kConfig);
  return test::shell(folder.path(), before + "\"$skipless\" bench c.yaml --rounds 2 --steps 1 " + arguments);
}

}  // namespace

TEST_CASE("bench times the config's block beside Pre-LN, with a table and with JSON", "[program][bench]") {
  const test::TemporaryFolder folder;
  const Result table = bench(folder, "--context 32 --profile");
  CHECK(table.code == 0);
  CHECK_THAT(table.out,
             Contains("a step of 2 sequences of 32 tokens; fp32 on cpu, 1 threads, OMP_WAIT_POLICY=passive"));
  CHECK_THAT(table.out, Contains("\npre_ln ") && Contains("\nsas_p ") && Contains("of floor") && Contains("backward"));
  const Result json = bench(folder, "--blocks sas_p:none --precision bf16 --json model.d_ff=32");
  CHECK(json.code == 0);
  const auto results = nlohmann::json::parse(json.out);
  REQUIRE(results.size() == 1);
  CHECK(results[0]["block"] == "sas_p:none");
  CHECK(results[0]["step_ms"].size() == 2);
  CHECK(results[0]["floor_by"] == "oneDNN");
  CHECK(results[0]["peak_bytes"] > 0);
}

TEST_CASE("bench answers each line with a round", "[program][bench]") {
  const test::TemporaryFolder folder;
  const Result result = bench(folder, "--blocks sas --on-request", "printf '\\n\\n' | ");
  CHECK(result.code == 0);
  const auto line = result.out.find('\n');
  REQUIRE(line != std::string::npos);
  CHECK(nlohmann::json::parse(result.out.substr(0, line))[0]["tokens_per_step"] == 64);
  CHECK(nlohmann::json::parse(result.out.substr(line + 1))[0]["step_ms"] > 0);
}

TEST_CASE("bench refuses what it cannot time", "[program][bench]") {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& arguments) {
    const Result result = bench(folder, arguments);
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK_THAT(refusal("--blocks pre_nl"), Contains("pre_nl") && Contains("pre_ln"));
  CHECK_THAT(refusal("--blocks sas_p:batch_norm"), Contains("batch_norm") && Contains("rms_norm"));
  CHECK_THAT(refusal("--context 24"), Contains("--context 24: the config's step has 64 tokens"));
  CHECK_THAT(refusal("--precision fp8"), Contains("fp8") && Contains("bf16"));
  CHECK_THAT(refusal("train.micro_batch=3"), Contains("train.batch_size 4 is not a multiple of train.micro_batch 3"));
  CHECK_THAT(refusal("--rounds 0"), Contains("--rounds"));
  CHECK_THAT(refusal("--on-request --json"), Contains("--json"));
  CHECK(test::shell(folder.path(), "\"$skipless\" bench").code == 2);
}

}  // namespace skipless
