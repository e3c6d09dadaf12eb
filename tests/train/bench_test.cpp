// What `skipless bench` measures, and how it tells of it; not how fast anything is.
#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "configs/config_file.h"
#include "configs/error.h"
#include "models/make_model.h"
#include "train/bench/bench_json.h"
#include "train/bench/bench_table.h"
#include "train/bench/child_memory.h"
#include "train/bench/linear_shapes.h"
#include "train/bench/step_bench.h"
#include "train/quartiles.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;

namespace {

/// A child process that is forked here has no other threads, but thinks so of those that earlier tests started.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }

 private:
  int before_;
};

RunConfig tiny_config(const std::string& block, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {"model.block=" + block};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return parse_config<RunConfig>(
      "model: {n_layer: 2, d_model: 12, n_head: 3, d_ff: 20, vocab_size: 17, context_length: 8}\n"
      "data: {folder: nowhere}\n"
      "train: {steps: 10, batch_size: 4, lr: 1.0e-3}\n",
      "tiny", overrides);
}

std::vector<LinearShape> shapes_of(const RunConfig& config, const Batch& batch) {
  return linear_shapes(*make_model(config.model), batch);
}

double flops_of(const std::vector<LinearShape>& shapes) {
  double sum = 0;
  for (const auto& shape : shapes) sum += shape.flops();
  return sum;
}

}  // namespace

TEST_CASE("The floor has every matrix that tokens are multiplied with, and no table", "[bench]") {
  const Batch batch{.ids = at::zeros({4, 8}, at::kLong)};
  // Three products of 2 * rows * in * out; the head sees 7 of 8 positions.
  const double block = 12 * 24 + 2 * 12 * 20, value = 12 * 12, head = 12 * 17;
  CHECK(flops_of(shapes_of(tiny_config("pre_ln"), batch)) == 6 * (32 * 2 * (block + 2 * value) + 28 * head));
  CHECK(flops_of(shapes_of(tiny_config("sas_p"), batch)) == 6 * (32 * (2 * block + value) + 28 * head));
  CHECK(shapes_of(tiny_config("sas_p"), batch).size() == 8);
  CHECK(flops_of(shapes_of(tiny_config("sas_p", {"model.tied_head=false"}), batch)) ==
        flops_of(shapes_of(tiny_config("sas_p"), batch)));
}

TEST_CASE("An encoder's head counts for the masked positions alone", "[bench]") {
  const std::vector<std::string> encoder = {"model.kind=bert", "model.mlm_head.transform=true"};
  const Batch batch{.ids = at::zeros({4, 8}, at::kLong), .labels = at::zeros({4, 2}, at::kLong)};
  const double block = 12 * 24 + 2 * 12 * 20, value = 12 * 12, head = 12 * 17 + 12 * 12;
  CHECK(flops_of(shapes_of(tiny_config("sas_p", encoder), batch)) == 6 * (32 * (2 * block + value) + 8 * head));
}

TEST_CASE("A bench has one time of every round for every block, its floor and its memory", "[bench]") {
  const OneThread one_thread;
  for (const std::string precision : {"fp32", "bf16"}) {
    std::vector<BenchCase> cases;
    for (const std::string block : {"pre_ln", "sas_p"}) {
      cases.push_back(
          {.name = block, .config = tiny_config(block, {"train.precision=" + precision, "train.micro_batch=2"})});
    }
    StepBench bench(cases, /*steps=*/2);
    for (int i = 0; i < 3; ++i) bench.round();
    const auto results = bench.results();
    REQUIRE(results.size() == 2);
    for (const auto& result : results) {
      CHECK(result.tokens == 32);
      REQUIRE(result.step.size() == 3);
      REQUIRE(result.floor.size() == 3);
      CHECK(*std::min_element(result.floor.begin(), result.floor.end()) > 0);
      CHECK((precision == "fp32" || result.floor_by == "oneDNN"));
    }
    CHECK(results[0].name == "pre_ln");
    CHECK(results[0].parameters > results[1].parameters);
    CHECK(results[0].floor_flops > results[1].floor_flops);
    const std::string table = bench_table(results);
    CHECK_THAT(table, Catch::Contains("pre_ln") && Catch::Contains("sas_p") && Catch::Contains("of floor"));
    const auto json = bench_json(results);
    CHECK(json[0]["speed_over_pre_ln"] == 1);
    CHECK(json[1]["step_ms"].size() == 3);
    const auto profiles = bench.profile();
    REQUIRE(profiles.size() == 2);
    const auto has = [&](const std::string& section, const std::string& name) {
      return std::any_of(profiles[1].begin(), profiles[1].end(), [&](const OpTime& op) {
        return op.section == section && op.name == name && op.milliseconds > 0;
      });
    };
    CHECK(has("forward", "aten::linear"));
    CHECK(has("backward", "aten::mm"));
    CHECK(has("optimizer", "aten::_fused_adamw_"));
    CHECK_THAT(profile_table("sas_p", profiles[1]), Catch::Contains("forward") && Catch::Contains("clip"));
  }
}

TEST_CASE("Micro-batches that do not divide the batch are refused by bench", "[bench]") {
  const std::vector<BenchCase> cases = {{.name = "sas_p", .config = tiny_config("sas_p", {"train.micro_batch=3"})}};
  CHECK_THROWS_AS(StepBench(cases, 1), UserError);
}

TEST_CASE("An encoder is benched with padding, a causal model is not", "[bench]") {
  const OneThread one_thread;
  const auto padded = [](const std::string& kind) {
    return std::vector<BenchCase>{
        {.name = "sas_p", .config = tiny_config("sas_p", {"model.kind=" + kind}), .padding = 0.5}};
  };
  StepBench bench(padded("bert"), 1);
  bench.round();
  CHECK(bench.results().front().step.front() > 0);
  CHECK_THROWS_AS(StepBench(padded("gpt"), 1), UserError);
}

TEST_CASE("Ratios to Pre-LN and to the floor are medians over rounds", "[bench]") {
  const std::vector<BenchResult> results = {
      {.name = "sas_p", .tokens = 1000, .step = {10, 20, 10}, .floor = {5, 16, 9}},
      {.name = "pre_ln", .tokens = 1000, .step = {15, 20, 20}, .floor = {5, 5, 5}}};
  const auto json = bench_json(results);
  CHECK(json[0]["speed_over_pre_ln"] == 1.5);
  CHECK(json[0]["share_of_floor"] == 0.8);
  CHECK(json[0]["tokens_per_second"] == 100'000);
  CHECK_FALSE(bench_json({results[0]})[0].contains("speed_over_pre_ln"));
  CHECK_THAT(bench_table(results), Catch::Contains("100,000"));
}

TEST_CASE("Quartiles lie between the sorted values", "[bench]") {
  const auto of_four = quartiles_of({4, 1, 3, 2});
  CHECK(of_four.low == 1.75);
  CHECK(of_four.median == 2.5);
  CHECK(of_four.high == 3.25);
  CHECK(quartiles_of({7}).high == 7);
  CHECK(std::isnan(quartiles_of({}).median));
}

TEST_CASE("A child's memory is what its work needs, and its failure is told", "[bench]") {
  const OneThread one_thread;
  constexpr int64_t kBytes = 64 << 20;
  const int64_t peak = peak_memory_of([] { at::zeros({kBytes}, at::kByte).fill_(1); });
  CHECK(peak >= kBytes);
  CHECK(peak < 2 * kBytes);
  CHECK_THROWS_AS(peak_memory_of([] { throw RunError("no"); }), RunError);
}
