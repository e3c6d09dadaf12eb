#include "train/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "configs/error.h"
#include "tests/train/trained_run.h"
#include "train/checkpoint.h"
#include "train/event_format.h"
#include "train/event_log.h"
#include "train/load_run.h"
#include "train/module_state.h"
#include "train/non_finite.h"
#include "train/run_folder.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace fs = std::filesystem;
using nlohmann::json;
using test::checkpoints_of;
using test::error_of;
using test::go_back;
using test::metrics_of;
using test::require_same_metrics;
using test::require_same_run;
using test::run;

TEST_CASE("20 steps equal 10 + 10 bit for bit, with accumulation and a stop inside the warm-up", "[trainer][resume]") {
  const std::string optimizer = GENERATE("adamw", "adamw_hf");
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", stopped = temporary.path() / "stopped";
  const std::vector<std::string> overrides{"train.optimizer=" + optimizer};
  CHECK(run(unbroken, overrides).step == 20);
  fs::copy(unbroken, stopped, fs::copy_options::recursive);
  go_back(stopped, 10);
  CHECK_FALSE(run(stopped, overrides).was_done);
  require_same_run(unbroken, stopped, 20);
  // The test can fail: step 20 is not step 10.
  CHECK(test::read_bytes(checkpoints_of(unbroken).path_of(10) / "model.safetensors") !=
        test::read_bytes(checkpoints_of(unbroken).path_of(20) / "model.safetensors"));
}

TEST_CASE("a resumed run is the unbroken one with dropout, a fading identity start and gains under feedback",
          "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", stopped = temporary.path() / "stopped";
  const std::vector<std::string> overrides{
      "model.dropout.embedding=0.1",          "model.dropout.attention=0.1",         "model.dropout.branch=0.2",
      "model.identity_start.schedule=cosine", "model.identity_start.steps=15",       "model.norm=none",
      "model.sas.beta_sa.feedback.power=0.5", "model.sas.beta_ff.feedback.power=0.3"};
  CHECK(run(unbroken, overrides).step == 20);
  fs::copy(unbroken, stopped, fs::copy_options::recursive);
  go_back(stopped, 10);
  run(stopped, overrides);
  require_same_run(unbroken, stopped, 20);
  const auto saved = checkpoints_of(unbroken).read(10).model.tensors;
  CHECK(saved.at("block_1.attention.shape.lambda").item<double>() == Approx((1 + std::cos(M_PI * 9 / 15)) / 2));
  CHECK(saved.at("block_1.beta_ff.feedback_target").item<double>() > 0);
  CHECK(saved.at("block_1.beta_ff.value").item<double>() !=
        checkpoints_of(unbroken).read(20).model.tensors.at("block_1.beta_ff.value").item<double>());
}

TEST_CASE("resuming across the end of an epoch repeats and leaves out nothing", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", stopped = temporary.path() / "stopped";
  // The training shard has a few hundred chunks: an epoch of 64 a step ends within the first ten steps.
  const std::vector<std::string> overrides{"train.batch_size=64", "train.micro_batch=64", "train.save_every=5"};
  run(unbroken, overrides);
  fs::copy(unbroken, stopped, fs::copy_options::recursive);
  go_back(stopped, 5);
  run(stopped, overrides);
  require_same_run(unbroken, stopped, 20);
}

TEST_CASE("20 steps given in tokens are the same run", "[trainer][budget]") {
  const test::TemporaryFolder temporary;
  run(temporary.path() / "steps");
  run(temporary.path() / "tokens", {"train.steps=null", "train.tokens=2560"});
  const auto lines = metrics_of(temporary.path() / "tokens", "train");
  const auto expected = metrics_of(temporary.path() / "steps", "train");
  REQUIRE(lines.size() == expected.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i].at("loss") == expected[i].at("loss"));
    CHECK(lines[i].at("lr") == expected[i].at("lr"));
  }
}

TEST_CASE("a budget that is no whole number of steps, with a batch-size ramp, ends exactly and resumes exactly",
          "[trainer][budget][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", stopped = temporary.path() / "stopped";
  const std::vector<std::string> overrides{"train.steps=null",     "train.tokens=2400",       "train.batch_start=2",
                                           "train.batch_ramp=0.6", "train.warmup_steps=null", "train.save_every=7",
                                           "train.log_every=1"};
  run(unbroken, overrides);
  const auto state = checkpoints_of(unbroken).read_state(checkpoints_of(unbroken).steps().back());
  CHECK(state.sequences == 150);
  CHECK(state.tokens == 2400);
  CHECK(state.done);
  const auto lines = metrics_of(unbroken, "train");
  CHECK(lines[0].at("tokens") == 2 * 16);
  CHECK(lines[1].at("tokens") == 4 * 16);
  fs::copy(unbroken, stopped, fs::copy_options::recursive);
  go_back(stopped, 7);
  run(stopped, overrides);
  require_same_run(unbroken, stopped, state.step);
  CHECK(run(stopped, overrides).was_done);
}

TEST_CASE("under a budget of hours the rate follows the time in steps, and a stop changes nothing",
          "[trainer][budget][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", stopped = temporary.path() / "stopped";
  // A second passes each time somebody looks: a step takes one, and so does each wait for the device.
  const auto run_by_clock = [](const fs::path& folder, double start) {
    spdlog::set_level(spdlog::level::off);
    double now = start;
    return train(test::small_run_config({"train.steps=null", fmt::format("train.hours={}", 30.0 / 3600),
                                         "train.schedule=triangle", "train.warmup_steps=null"}),
                 folder, "{}\n", /*terminal=*/false, [&now] { return now += 1; });
  };
  const auto outcome = run_by_clock(unbroken, 0);
  CHECK(outcome.step < 30);  // reports and evaluations waited for the device
  CHECK(outcome.validation_loss.has_value());
  const auto lines = metrics_of(unbroken, "train");
  CHECK(lines[0].at("lr") == 1e-3 / 4);
  CHECK(lines[1].at("step") == 3);
  CHECK(lines[1].at("lr").get<double>() == Approx(1e-3 * (0.25 + 3.0 / 30)).epsilon(1e-12));  // 2 steps and a report
  CHECK(lines.back().at("lr").get<double>() < 1e-3 / 4);
  fs::copy(unbroken, stopped, fs::copy_options::recursive);
  go_back(stopped, 10);
  CHECK(run_by_clock(stopped, 1e6).step == outcome.step);
  require_same_run(unbroken, stopped, outcome.step);
  CHECK(run_by_clock(stopped, 0).was_done);
}

TEST_CASE("metrics have every step once, rates of the schedule, and a falling loss", "[trainer]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  const auto outcome = run(folder, {"train.lr=0.01"});
  const auto lines = metrics_of(folder, "train");
  const auto config = test::small_run_config({"train.lr=0.01"}).train;
  const BudgetPlan plan(config, config, config.schedule, 16, 100);
  std::vector<int64_t> steps;
  for (const auto& line : lines) {
    steps.push_back(line.at("step"));
    CHECK(line.at("lr").get<double>() == plan.learning_rate({.steps = steps.back() - 1}));
    CHECK(line.at("tokens") == steps.back() * 8 * 16);
    CHECK(line.at("tokens_per_second").get<double>() > 0);
  }
  CHECK(steps == std::vector<int64_t>{1, 3, 6, 9, 12, 15, 18, 20});
  CHECK(lines.front().at("loss").get<double>() == Approx(std::log(4096)).margin(0.5));
  CHECK(lines.back().at("loss").get<double>() < lines.front().at("loss").get<double>() - 0.5);
  const auto evaluations = metrics_of(folder, "eval");
  REQUIRE(evaluations.size() == 2);
  CHECK(evaluations[1].at("loss") == *outcome.validation_loss);
  CHECK(evaluations[1].at("perplexity").get<double>() == Approx(std::exp(*outcome.validation_loss)));
  CHECK(evaluations[1].at("predicted_tokens") == 512 / 16 * 15);
  CHECK(metrics_of(folder, "start").at(0).at("parameters") > 60'000);
}

TEST_CASE("a run at the rate of its block goes on by itself, by that number, and by no other", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", stopped = temporary.path() / "stopped";
  run(unbroken, {"train.lr=0.004"});
  run(stopped, {"train.lr_of.sas=0.004", "train.lr_of.pre_ln=0.5"});
  for (const std::string setting : {"train.lr_of.sas=0.004", "train.lr=0.004"}) {
    go_back(stopped, 10);
    CHECK_FALSE(run(stopped, {setting}).was_done);
    require_same_run(unbroken, stopped, 20);
  }
  CHECK_THAT(error_of(stopped, {"train.lr_of.sas=0.005"}), Catch::Contains("train.lr is 0.004 in the run, 0.005 now"));
}

TEST_CASE("a finished run is left as it is", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  run(folder, {"train.steps=2", "train.warmup_steps=0"});
  const std::string metrics = test::read_bytes(RunPaths{folder}.metrics());
  CHECK(run(folder, {"train.steps=2", "train.warmup_steps=0"}).was_done);
  CHECK(test::read_bytes(RunPaths{folder}.metrics()) == metrics);
}

TEST_CASE("a run is refused under another config, by each key that differs", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  const std::vector<std::string> small{"train.steps=2", "train.warmup_steps=0"};
  run(folder, small);
  const std::string config = test::read_bytes(RunPaths{folder}.config());
  const std::string error =
      error_of(folder, {"train.steps=3", "train.warmup_steps=0", "train.seed=1", "model.d_ff=32", "train.log_every=1"});
  for (const char* key : {"train.steps", "train.seed", "model.d_ff"}) {
    CHECK(error.find(key) != std::string::npos);
  }
  CHECK(error.find("train.log_every") == std::string::npos);
  CHECK(test::read_bytes(RunPaths{folder}.config()) == config);
  // What changes nothing that is computed may change.
  auto other = small;
  other.insert(other.end(), {"train.log_every=1", "train.keep_checkpoints=3"});
  CHECK(error_of(folder, other) == "");
  CHECK(test::read_bytes(RunPaths{folder}.config()).find("keep_checkpoints: 3") != std::string::npos);
}

TEST_CASE("a run is refused on other data, and by a model of another vocabulary", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const std::vector<std::string> small{"train.steps=4", "train.warmup_steps=0", "train.save_every=2"};
  run(temporary.path() / "run", small);
  go_back(temporary.path() / "run", 2);
  test::prepare_small_data(temporary.path() / "other", 100);
  auto other = small;
  other.push_back("data.folder=" + (temporary.path() / "other").string());
  const std::string config = test::read_bytes(RunPaths{temporary.path() / "run"}.config());
  CHECK(error_of(temporary.path() / "run", other).find("other data") != std::string::npos);
  CHECK(test::read_bytes(RunPaths{temporary.path() / "run"}.config()) == config);
  const std::string error = error_of(temporary.path() / "new", {"model.vocab_size=5000"});
  CHECK(error.find("model.vocab_size is 5000") != std::string::npos);
  CHECK(error.find("4096") != std::string::npos);
  CHECK_FALSE(fs::exists(temporary.path() / "new"));
}

TEST_CASE("a cut checkpoint is passed over for the one before it, and the run ends the same", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", damaged = temporary.path() / "damaged";
  run(unbroken);
  fs::copy(unbroken, damaged, fs::copy_options::recursive);
  const fs::path file = checkpoints_of(damaged).path_of(20) / "model.safetensors";
  fs::resize_file(file, fs::file_size(file) / 2);
  CHECK_FALSE(run(damaged).was_done);
  require_same_run(unbroken, damaged, 20);
}

namespace {

/// Puts a number that is not finite into the checkpoint of step 20.
void poison(const fs::path& folder) {
  // Written anew, so that its checksum is right: as if the run had gone wrong between its checkpoints.
  const auto checkpoints = checkpoints_of(folder);
  Checkpoint poisoned = checkpoints.read(20);
  poisoned.model.tensors.at("block_1.feed_forward.w_2")[2][3] = std::nan("");
  fs::remove_all(checkpoints.path_of(20));
  checkpoints.save(poisoned, 5);
}

}  // namespace

TEST_CASE("a number that is not finite stops the run by its tensor, and the last good checkpoint stays", "[trainer]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  const std::vector<std::string> overrides{"train.steps=40", "train.save_every=10"};
  run(folder, overrides);
  go_back(folder, 20);
  poison(folder);
  const std::string error = error_of(folder, overrides);
  CHECK(error.find("step 21") != std::string::npos);
  CHECK(error.find("parameter block_1.feed_forward.w_2") != std::string::npos);
  CHECK(checkpoints_of(folder).steps() == std::vector<int64_t>{10, 20});
}

TEST_CASE("a number that is not finite stops the run before it is evaluated or its layers are told of", "[trainer]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  const bool evaluates = GENERATE(true, false);
  const std::vector<std::string> overrides{"train.steps=30", "train.log_every=1000",
                                           evaluates ? "train.eval_every=1" : "train.eval_every=0",
                                           evaluates ? "train.stats_every=0" : "train.stats_every=1"};
  run(folder, overrides);
  go_back(folder, 20);
  poison(folder);
  CHECK_THAT(error_of(folder, overrides), Catch::Contains("step 21: "));
  const auto lines = metrics_of(folder, evaluates ? "eval" : "layers");
  CHECK(lines.back().at("step") == 20);
}

TEST_CASE("a checkpoint of another architecture is refused by tensor and shape", "[trainer][checkpoint]") {
  const test::TemporaryFolder temporary;
  const fs::path a = temporary.path() / "a", b = temporary.path() / "b";
  const std::vector<std::string> small{"train.steps=2", "train.warmup_steps=0"};
  run(a, small);
  auto wide = small;
  wide.push_back("model.d_ff=40");
  run(b, wide);
  fs::remove_all(RunPaths{a}.checkpoints());
  fs::copy(RunPaths{b}.checkpoints(), RunPaths{a}.checkpoints(), fs::copy_options::recursive);
  const std::string error = error_of(a, small);
  CHECK(error.find("block_0.feed_forward.w_1") != std::string::npos);
  CHECK(error.find("[40, 16]") != std::string::npos);
  CHECK(error.find("[24, 16]") != std::string::npos);
  CHECK_THROWS_WITH(load_run(a, "last", ""), Catch::Contains("block_0.feed_forward.w_1"));
}

TEST_CASE("a run's model is loaded by last, best or step", "[trainer][load_run]") {
  const test::TemporaryFolder temporary;
  run(temporary.path());
  CHECK(load_run(temporary.path(), "last", "").state.step == 20);
  CHECK(load_run(temporary.path(), "best", "").state.step == 20);
  CHECK(load_run(temporary.path(), "10", "cpu").state.step == 10);
  CHECK_THROWS_WITH(load_run(temporary.path(), "11", ""), Catch::Contains("10, 20"));
  CHECK_THROWS_WITH(load_run(temporary.path(), "newest", ""), Catch::Contains("'newest'"));
}

TEST_CASE("a checkpoint beyond the run's steps is refused, and none is removed", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run", longer = temporary.path() / "longer";
  const std::vector<std::string> small{"train.steps=4", "train.warmup_steps=0"};
  run(folder, small);
  run(longer, {"train.steps=6", "train.warmup_steps=0"});
  fs::copy(checkpoints_of(longer).path_of(6), checkpoints_of(folder).path_of(6), fs::copy_options::recursive);
  const std::string metrics = test::read_bytes(RunPaths{folder}.metrics());
  CHECK_THAT(error_of(folder, small), Catch::Contains("checkpoint of step 6, but the run has 4 steps"));
  CHECK(checkpoints_of(folder).steps() == std::vector<int64_t>{4, 6});
  CHECK(test::read_bytes(RunPaths{folder}.metrics()) == metrics);
}

TEST_CASE("events beyond the checkpoint are cut off also where the run goes on without TensorBoard",
          "[trainer][events]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  run(folder);
  go_back(folder, 10);
  run(folder, {"train.tensorboard=false"});
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!is_event_file(entry.path().filename().string())) continue;
    const std::string bytes = test::read_bytes(entry.path());
    CHECK(bytes_up_to(bytes, 9) < bytes.size());  // step 10 is there
    CHECK(bytes_up_to(bytes, 10) == bytes.size());
  }
}

TEST_CASE("a first start that ended before config.yaml was written can be repeated", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  const std::vector<std::string> small{"train.steps=2", "train.warmup_steps=0"};
  fs::create_directories(folder / "config.yaml.tmp");  // in the way of config.yaml, the last that a start writes
  CHECK_THAT(error_of(folder, small), Catch::Contains("config.yaml': Is a directory"));
  CHECK_FALSE(is_run(folder));
  fs::remove(folder / "config.yaml.tmp");
  CHECK(error_of(folder, small) == "");
  CHECK(metrics_of(folder, "train").size() == 2);
}

TEST_CASE("a run without its checkpoints starts anew, under another config too, and keeps its metrics",
          "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  run(folder, {"train.steps=2", "train.warmup_steps=0"});
  const std::string metrics = test::read_bytes(RunPaths{folder}.metrics());
  fs::remove_all(RunPaths{folder}.checkpoints());
  CHECK(error_of(folder, {"train.steps=3", "train.warmup_steps=0", "model.d_ff=32"}) == "");
  CHECK(checkpoints_of(folder).steps() == std::vector<int64_t>{3});
  CHECK(test::read_bytes(folder / "metrics.jsonl.old") == metrics);
  CHECK(metrics_of(folder, "start").size() == 1);
  CHECK_THAT(test::read_bytes(RunPaths{folder}.config()), Catch::Contains("d_ff: 32"));
}

TEST_CASE("a file in the place of the checkpoint folder is refused before anything is written", "[trainer]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  fs::create_directory(folder);
  test::write_bytes(RunPaths{folder}.checkpoints(), "text");
  CHECK_THAT(error_of(folder, {}), Catch::Contains(RunPaths{folder}.checkpoints().string()));
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
}

TEST_CASE("the optimizer's tensors are refused by file and name, and no setting is changed", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  const std::vector<std::string> small{"train.steps=2", "train.warmup_steps=0"};
  run(folder, small);
  const std::string config = test::read_bytes(RunPaths{folder}.config());
  const auto checkpoints = checkpoints_of(folder);
  const Checkpoint good = checkpoints.read(2);
  const auto error_with = [&](const std::function<void(std::map<std::string, at::Tensor>&)>& change) {
    Checkpoint changed = good;
    change(changed.optimizer.tensors);
    fs::remove_all(checkpoints.path_of(2));
    checkpoints.save(changed, 5);
    auto other = small;
    other.push_back("train.log_every=7");
    const std::string error = error_of(folder, other);
    CHECK_THAT(error, Catch::StartsWith(checkpoints.optimizer_file(2).string()));
    CHECK(test::read_bytes(RunPaths{folder}.config()) == config);
    return error;
  };
  CHECK_THAT(error_with([](auto& tensors) { tensors.erase("rng.cpu"); }), Catch::Contains("no tensor 'rng.cpu'"));
  CHECK_THAT(error_with([](auto& tensors) { tensors["rng.cpu"] = at::zeros({7}, at::kByte); }),
             Catch::Contains("'rng.cpu' is not the state of a generator"));
  CHECK_THAT(error_with([](auto& tensors) { tensors.erase("embedding.tokens.exp_avg"); }),
             Catch::Contains("no tensor 'embedding.tokens.exp_avg', which this optimizer (adamw) has"));
  CHECK_THAT(error_with([](auto& tensors) { tensors["final_norm.bias.exp_avg"] = at::zeros({16}, at::kLong); }),
             Catch::Contains("'final_norm.bias.exp_avg' is of dtype Long"));
}

TEST_CASE("tensors of another dtype are taken where no value changes, and else refused by name", "[checkpoint]") {
  torch::nn::Linear linear(1, 2);
  const auto load = [&](const at::Tensor& weight) {
    load_module_state(*linear, {{"weight", weight}, {"bias", at::zeros({2})}}, "file");
  };
  for (const auto dtype : {at::kHalf, at::kBFloat16, at::kDouble}) {
    load(at::full({2, 1}, 0.75, dtype));
    CHECK(linear->weight.equal(at::full({2, 1}, 0.75f)));
  }
  load(at::full({2, 1}, std::nan(""), at::kHalf));  // what it is, it stays
  CHECK_THROWS_WITH(load(at::full({2, 1}, 0.1, at::kDouble)),
                    Catch::Contains("'weight' is of dtype Double") && Catch::Contains("Float cannot hold"));
  CHECK_THROWS_WITH(load(at::ones({2, 1}, at::kInt)), Catch::Contains("'weight' is of dtype Int"));
}

TEST_CASE("imported weights are not trained on, and that is said", "[trainer][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  const RunConfig config = test::small_run_config({"data.folder=nowhere"});
  Checkpoint imported;
  imported.model.tensors = module_state(*Gpt(config.model));
  checkpoints_of(folder).save(imported, 1);
  test::write_bytes(RunPaths{folder}.config(), write_config(config));
  CHECK_THAT(error_of(folder, {}), Catch::Contains("imported weights, for eval only: no optimizer state"));
  CHECK(load_run(folder, "last", "").state.step == 0);
}

TEST_CASE("more threads than the machine runs are not started", "[trainer]") {
  const test::TemporaryFolder temporary;
  const int before = at::get_num_threads();
  run(temporary.path(), {"train.steps=1", "train.warmup_steps=0", "train.threads=4096"});
  const auto start = metrics_of(temporary.path(), "start").at(0);
  CHECK(start.at("threads").get<int64_t>() <= std::thread::hardware_concurrency());
  at::set_num_threads(before);
}

TEST_CASE("a loss that is not finite is an error, by the first parameter that is not", "[trainer]") {
  torch::nn::Linear linear(1, 2);
  CHECK_NOTHROW(require_finite_loss(8.3, *linear));
  CHECK_THROWS_WITH(require_finite_loss(INFINITY, *linear), Catch::Contains("every parameter is finite"));
  const torch::NoGradGuard no_grad;
  linear->bias.fill_(std::nan(""));
  CHECK_THROWS_AS(require_finite_loss(NAN, *linear), RunError);
  CHECK_THROWS_WITH(require_finite_loss(NAN, *linear), Catch::Contains("parameter bias is not finite"));
}

TEST_CASE("a log that is no ordinary file is refused without waiting", "[trainer]") {
  const test::TemporaryFolder temporary;
  REQUIRE(::mkfifo(RunPaths{temporary.path()}.log().c_str(), 0600) == 0);
  CHECK_THAT(error_of(temporary.path(), {}), Catch::Contains("train.log: not an ordinary file"));
}

TEST_CASE("statistics of the layers and events change nothing of a run", "[trainer][statistics]") {
  const test::TemporaryFolder temporary;
  const fs::path plain = temporary.path() / "plain", watched = temporary.path() / "watched";
  run(plain, {"train.tensorboard=false"});
  run(watched, {"train.stats_every=7"});
  // The files of the models differ: they name the config. The optimizer's have the generators in them.
  const auto models = std::pair(checkpoints_of(plain).read_model(20), checkpoints_of(watched).read_model(20));
  REQUIRE(models.first.tensors.size() == models.second.tensors.size());
  for (const auto& [name, tensor] : models.first.tensors) CHECK(at::equal(tensor, models.second.tensors.at(name)));
  CHECK(test::read_bytes(checkpoints_of(plain).optimizer_file(20)) ==
        test::read_bytes(checkpoints_of(watched).optimizer_file(20)));
  require_same_metrics(plain, watched);
  CHECK(metrics_of(plain, "layers").empty());

  const auto lines = metrics_of(watched, "layers");
  REQUIRE(lines.size() == 4);
  for (size_t i = 0; i < lines.size(); ++i) CHECK(lines[i].at("step") == std::vector<int64_t>{1, 7, 14, 20}[i]);
  // Gradients as they were before clipping: all parts together are the step's own norm.
  const auto steps = metrics_of(watched, "train");
  double squares = 0;
  for (const auto& [name, norm] : lines.back().at("grad_norm").items()) {
    if (name.find('.') == name.npos) squares += std::pow(norm.get<double>(), 2);
  }
  // float32 gradients, of which two orders of summation differ by some 1e-7 each
  CHECK(std::sqrt(squares) == Approx(steps.back().at("grad_norm").get<double>()).epsilon(1e-5));

  const auto count_events = [](const fs::path& folder) {
    return std::count_if(fs::directory_iterator(folder), {}, [](const auto& entry) {
      return entry.path().filename().string().starts_with("events.out.tfevents.");
    });
  };
  CHECK(count_events(plain) == 0);
  CHECK(count_events(watched) == 1);
}

}  // namespace skipless
