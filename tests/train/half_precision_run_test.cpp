// Whole runs in fp16 and bf16: resuming, skipped steps, a collapsing scale.
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "configs/error.h"
#include "train/device.h"
#include "train/generator_state.h"
// Last, with Catch2 in it: its CHECK clashes with LibTorch's.
#include "tests/train/trained_run.h"

namespace skipless {

namespace {

namespace fs = std::filesystem;
using test::checkpoints_of;
using test::error_of;
using test::go_back;
using test::metrics_of;
using test::require_same_run;
using test::run;

/// Changes the checkpoint of `step` as `change` says.
void change_checkpoint(const fs::path& folder, int64_t step, const std::function<void(Checkpoint&)>& change) {
  const auto checkpoints = checkpoints_of(folder);
  Checkpoint checkpoint = checkpoints.read(step);
  change(checkpoint);
  fs::remove_all(checkpoints.path_of(step));
  checkpoints.save(checkpoint, 100);
}

void set_scale(const fs::path& folder, int64_t step, double scale) {
  change_checkpoint(folder, step, [&](Checkpoint& checkpoint) {
    checkpoint.optimizer.tensors.at("loss_scale.scale") = at::full({}, scale, at::kFloat);
  });
}

}  // namespace

TEST_CASE(
    "in half precision 20 steps equal 10 + 10 bit for bit, with dropout and accumulation, inside a warm-up and an "
    "epoch",
    "[trainer][resume][precision]") {
  const std::string precision = GENERATE("fp16", "bf16");
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", stopped = temporary.path() / "stopped";
  const std::vector<std::string> overrides{"train.precision=" + precision, "model.dropout.embedding=0.1",
                                           "model.dropout.attention=0.1", "model.dropout.branch=0.1"};
  run(unbroken, overrides);
  fs::copy(unbroken, stopped, fs::copy_options::recursive);
  go_back(stopped, 10);
  run(stopped, overrides);
  require_same_run(unbroken, stopped, 20);
  CHECK(metrics_of(unbroken, "start").at(0).at("precision") == precision);
  CHECK(checkpoints_of(unbroken).read_state(20).precision == precision);
  CHECK(metrics_of(unbroken, "train").at(0).contains("loss_scale") == (precision == "fp16"));
}

TEST_CASE("half precision learns as float32 does", "[trainer][precision]") {
  const test::TemporaryFolder temporary;
  const auto end_of = [&](const std::string& precision) {
    const auto folder = temporary.path() / precision;
    return *run(folder, {"train.precision=" + precision, "train.lr=0.01"}).validation_loss;
  };
  const double exact = end_of("fp32");
  CHECK(exact < std::log(4096) - 0.5);
  // A hundredth of a nat: the rounding of single products, averaged over all.
  CHECK(end_of("fp16") == Approx(exact).margin(0.01));
  CHECK(end_of("bf16") == Approx(exact).margin(0.01));
}

TEST_CASE("a skipped step spends its batch and its place in the schedule, is counted, and leaves the weights",
          "[trainer][precision][budget]") {
  constexpr double kHugeScale = 28;  // the exponent
  const test::TemporaryFolder temporary;
  const fs::path plain = temporary.path() / "plain", skipping = temporary.path() / "skipping";
  const std::vector<std::string> overrides{"train.precision=fp16", "train.log_every=1", "train.save_every=1",
                                           "train.keep_checkpoints=20", "train.eval_every=0"};
  run(plain, overrides);
  fs::copy(plain, skipping, fs::copy_options::recursive);
  go_back(skipping, 10);
  set_scale(skipping, 10, std::pow(2, kHugeScale));
  run(skipping, overrides);
  const auto expected = metrics_of(plain, "train"), lines = metrics_of(skipping, "train");
  REQUIRE(lines.size() == 20);
  CHECK(lines.back().at("skipped_steps") >= 3);
  for (size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i].at("lr") == expected[i].at("lr"));
    CHECK(lines[i].at("tokens") == expected[i].at("tokens"));
  }
  const auto model_of = [&](int64_t step) { return checkpoints_of(skipping).read_model(step).tensors; };
  double scale = std::pow(2, kHugeScale);
  int64_t skipped = 0;
  for (int64_t step = 11; step <= 20; ++step) {
    INFO(step);
    const auto& line = lines[static_cast<size_t>(step - 1)];
    const bool is_skipped = line.at("skipped_steps") > skipped;
    if (is_skipped) scale /= 2;
    skipped = line.at("skipped_steps");
    CHECK(line.at("loss_scale") == scale);
    const auto before = model_of(step - 1), after = model_of(step);
    for (const auto& [name, tensor] : after) {
      if (is_skipped) CHECK(tensor.equal(before.at(name)));
    }
    CHECK(after.at("embedding.tokens").equal(before.at("embedding.tokens")) == is_skipped);
  }
  CHECK(skipped < 10);  // the last ones were taken
}

TEST_CASE("a collapsing scale stops the run, names the tensor, and leaves every checkpoint", "[trainer][precision]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  const std::vector<std::string> overrides{"train.precision=fp16", "train.steps=30", "train.save_every=10",
                                           "train.log_every=5", "train.keep_checkpoints=20"};
  run(folder, overrides);
  go_back(folder, 10);
  change_checkpoint(
      folder, 10, [](Checkpoint& checkpoint) { checkpoint.model.tensors.at("block_0.feed_forward.w_1")[3][2] = 1e30; });
  const auto model = checkpoints_of(folder).path_of(10) / "model.safetensors";
  const std::string before = test::read_bytes(model);
  const std::string error = error_of(folder, overrides);
  CHECK_THAT(error, Catch::Contains("step 27: the loss scale has collapsed") && Catch::Contains("in 17 steps") &&
                        Catch::Contains("the first bad tensor is the output of block_0"));
  CHECK((test::read_bytes(model) == before));
  // What was saved while steps were skipped has the same weights.
  for (const int64_t step : checkpoints_of(folder).steps()) {
    CHECK(test::read_bytes(checkpoints_of(folder).path_of(step) / "model.safetensors").size() == before.size());
    CHECK(checkpoints_of(folder)
              .read(step)
              .model.tensors.at("embedding.tokens")
              .equal(checkpoints_of(folder).read(10).model.tensors.at("embedding.tokens")));
  }
  change_checkpoint(folder, checkpoints_of(folder).steps().back(), [](Checkpoint& checkpoint) {
    checkpoint.model.tensors.at("block_0.feed_forward.w_1")[3][2] = INFINITY;
  });
  const auto steps = checkpoints_of(folder).steps();
  CHECK_THAT(error_of(folder, overrides), Catch::Contains("block_0.feed_forward.w_1"));
  CHECK(checkpoints_of(folder).steps() == steps);
}

TEST_CASE("a run may go on in another precision, and the scale begins anew", "[trainer][resume][precision]") {
  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "run";
  run(folder, {"train.precision=fp32"});
  go_back(folder, 10);
  CHECK(error_of(folder, {"train.precision=fp16"}) == "");
  CHECK(metrics_of(folder, "train").back().at("loss_scale") == 65'536);
  go_back(folder, 10);
  CHECK(error_of(folder, {"train.precision=bf16"}) == "");
  CHECK(checkpoints_of(folder).read(20).optimizer.tensors.count("loss_scale.scale") == 0);
  // In the same precision the scale must be there.
  run(folder / "other", {"train.precision=fp16"});
  go_back(folder / "other", 10);
  change_checkpoint(folder / "other", 10, [](Checkpoint& c) { c.optimizer.tensors.erase("loss_scale.scale"); });
  CHECK_THAT(error_of(folder / "other", {"train.precision=fp16"}), Catch::Contains("no tensor 'loss_scale.scale'"));
}

TEST_CASE("a generator's state that is missing is an error, unless the run comes from another device",
          "[trainer][resume]") {
  const auto saved = [] {
    std::map<std::string, at::Tensor> tensors;
    save_generators(at::kCPU, tensors);
    return tensors;
  };
  auto tensors = saved();
  restore_generators(at::kCPU, tensors, "file", /*was_on_cuda=*/false);
  CHECK(tensors.empty());
  tensors = saved();
  CHECK_THROWS_WITH(restore_generators(at::kCPU, tensors, "file", /*was_on_cuda=*/true),
                    Catch::Contains("file: no tensor 'rng.cuda'"));
  tensors = saved();
  tensors.emplace("rng.cuda", at::zeros({16}, at::kByte));
  CHECK_NOTHROW(restore_generators(at::kCPU, tensors, "file", /*was_on_cuda=*/true));
  CHECK(tensors.empty());
  CHECK_THROWS_WITH(restore_generators(at::kCPU, tensors, "file", /*was_on_cuda=*/false),
                    Catch::Contains("file: no tensor 'rng.cpu'"));
}

}  // namespace skipless
