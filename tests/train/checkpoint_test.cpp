#include "train/checkpoint.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "configs/error.h"
#include "tests/temporary_folder.h"
#include "tests/train/small_run.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace fs = std::filesystem;

namespace {

Checkpoint checkpoint_at(int64_t step, std::optional<double> loss = {}) {
  Checkpoint checkpoint;
  checkpoint.state = {.step = step,
                      .sequences = 10 * step,
                      .tokens = 100 * step,
                      .seconds = 0.1 * static_cast<double>(step),
                      .done = true,
                      .train_data = "data",
                      .tokenizer = "tokenizer",
                      .validation_loss = loss,
                      .best = BestLoss{.step = 3, .loss = 1.0 / 3},
                      .window_loss = 2.0 / 3,
                      .window_tokens = 7};
  checkpoint.model.tensors.emplace("w", at::arange(600, at::kFloat) + static_cast<double>(step));
  checkpoint.model.metadata.emplace("config", "text");
  checkpoint.optimizer.tensors.emplace("w.exp_avg", at::full({600}, static_cast<double>(step)));
  return checkpoint;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// Seals `content` as state.json, whatever is in it.
void write_state(const fs::path& file, nlohmann::json content) {
  content.erase("checksum");
  const std::string text = content.dump();
  content["checksum"] = fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
  test::write_bytes(file, content.dump());
}

std::vector<std::string> warnings_of_newest(const CheckpointFolder& folder, int64_t& step) {
  std::vector<std::string> warnings;
  const auto newest = folder.read_newest([&](const std::string& text) { warnings.push_back(text); });
  step = newest ? newest->state.step : -1;
  return warnings;
}

}  // namespace

TEST_CASE("a checkpoint comes back as it was saved", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path() / "checkpoints");
  const Checkpoint saved = checkpoint_at(20, 0.1);
  folder.save(saved, 2);
  CHECK(folder.path_of(20).filename() == "step_000020");
  const Checkpoint read = folder.read(20);
  CHECK(read.state.step == 20);
  CHECK(read.state.sequences == saved.state.sequences);
  CHECK(read.state.tokens == saved.state.tokens);
  CHECK(read.state.seconds == saved.state.seconds);
  CHECK(read.state.done);
  CHECK(read.state.train_data == saved.state.train_data);
  CHECK(read.state.tokenizer == saved.state.tokenizer);
  CHECK(read.state.validation_loss == saved.state.validation_loss);
  CHECK(read.state.best->step == 3);
  CHECK(read.state.best->loss == saved.state.best->loss);
  CHECK(read.state.window_loss == saved.state.window_loss);
  CHECK(read.state.window_tokens == 7);
  CHECK(read.model.tensors.at("w").equal(saved.model.tensors.at("w")));
  CHECK(read.model.metadata.at("config") == "text");
  CHECK(read.optimizer.tensors.at("w.exp_avg").equal(saved.optimizer.tensors.at("w.exp_avg")));
  CHECK_FALSE(checkpoint_at(1).state.validation_loss.has_value());
}

TEST_CASE("old checkpoints go, but the newest and the best stay", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  folder.save(checkpoint_at(10, 3.0), 2);
  folder.save(checkpoint_at(20, 1.0), 2);
  folder.save(checkpoint_at(30, 2.0), 2);
  CHECK(folder.steps() == std::vector<int64_t>{20, 30});
  folder.save(checkpoint_at(40), 2);
  CHECK(folder.steps() == std::vector<int64_t>{20, 30, 40});
  folder.save(checkpoint_at(50, 0.5), 2);
  CHECK(folder.steps() == std::vector<int64_t>{40, 50});
  CHECK(folder.best_step() == 50);
}

TEST_CASE("a file that was cut or changed is refused in one line with its name, its size and what to use instead",
          "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  folder.save(checkpoint_at(10), 5);
  folder.save(checkpoint_at(20), 5);
  const std::string name = GENERATE("model.safetensors", "optimizer.safetensors", "state.json");
  const fs::path file = folder.path_of(20) / name;
  const std::string good = test::read_bytes(file);
  std::vector<std::string> spoilt{"", good.substr(0, good.size() / 100), good.substr(0, good.size() / 2),
                                  good.substr(0, good.size() * 99 / 100), good + "x"};
  for (const size_t at : {size_t{0}, good.size() / 3, good.size() * 9 / 10}) {
    spoilt.push_back(good);
    spoilt.back()[at] = static_cast<char>(spoilt.back()[at] ^ 4);
  }
  for (const auto& bytes : spoilt) {
    INFO(bytes.size());
    test::write_bytes(file, bytes);
    const std::string error = error_of([&] { folder.read(20); });
    CHECK(error.find(file.string()) == 0);
    CHECK(error.find(std::to_string(bytes.size()) + " bytes") != std::string::npos);
    CHECK((error.find("truncated") != std::string::npos || error.find("corrupt") != std::string::npos));
    CHECK(error.find(folder.path_of(10).string() + " can be used") != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
    CHECK(error_of([&] { folder.read_model(20); }) == error);
  }
  fs::remove(file);
  CHECK(error_of([&] { folder.read(20); }).find("missing") != std::string::npos);
  test::write_bytes(folder.path_of(10) / "model.safetensors", "x");
  CHECK(error_of([&] { folder.read(20); }).find("no older one") != std::string::npos);
}

TEST_CASE("the newest good checkpoint is found behind bad ones, which are set aside", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  int64_t step = 0;
  CHECK(warnings_of_newest(folder, step).empty());
  CHECK(step == -1);
  for (const int64_t s : {10, 20, 30}) folder.save(checkpoint_at(s), 5);
  test::write_bytes(folder.path_of(30) / "optimizer.safetensors", "x");
  test::write_bytes(folder.path_of(20) / "state.json", "{");
  CHECK(warnings_of_newest(folder, step).size() == 2);
  CHECK(step == 10);
  CHECK(folder.steps() == std::vector<int64_t>{10});
  CHECK(fs::exists(temporary.path() / "step_000030.corrupt"));
  folder.save(checkpoint_at(20), 5);  // the step that was bad can be saved again
  CHECK(warnings_of_newest(folder, step).empty());
  CHECK(step == 20);
}

TEST_CASE("when no checkpoint is good, none is taken and nothing is moved", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  folder.save(checkpoint_at(10), 5);
  test::write_bytes(folder.path_of(10) / "model.safetensors", "x");
  int64_t step = 0;
  CHECK_THROWS_AS(warnings_of_newest(folder, step), UserError);
  CHECK(folder.steps() == std::vector<int64_t>{10});
}

TEST_CASE("what an interrupted save left is no checkpoint, and is removed", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  folder.save(checkpoint_at(10), 5);
  fs::create_directory(temporary.path() / "step_000020.tmp");
  fs::create_directory(temporary.path() / "notes.tmp");
  test::write_bytes(temporary.path() / "step_000020.tmp/model.safetensors", "half");
  CHECK(folder.steps() == std::vector<int64_t>{10});
  folder.remove_leftovers();
  CHECK_FALSE(fs::exists(temporary.path() / "step_000020.tmp"));
  CHECK(fs::exists(temporary.path() / "notes.tmp"));
}

TEST_CASE("a save that fails leaves the older checkpoint alone and nothing half done", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  folder.save(checkpoint_at(10), 1);
  Checkpoint bad = checkpoint_at(20);
  bad.model.tensors.emplace("z", at::full({2}, 1, at::kComplexFloat));  // safetensors has no name for it
  CHECK_THROWS_AS(folder.save(bad, 1), UserError);
  CHECK(std::distance(fs::directory_iterator(temporary.path()), {}) == 1);
  CHECK(folder.read(10).state.step == 10);
}

TEST_CASE("a checkpoint under the name of another step is none of that step", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  folder.save(checkpoint_at(10), 5);
  fs::copy(folder.path_of(10), folder.path_of(30), fs::copy_options::recursive);
  fs::copy(folder.path_of(10), temporary.path() / "step_40", fs::copy_options::recursive);
  CHECK(folder.steps() == std::vector<int64_t>{10, 30});
  const std::string error = error_of([&] { folder.read_model(30); });
  CHECK_THAT(error, Catch::Contains("of step 10, in the folder of step 30") && Catch::Contains("can be used"));
  int64_t step = 0;
  CHECK(warnings_of_newest(folder, step).size() == 1);
  CHECK(step == 10);
}

TEST_CASE("a state that is sealed but not of this program is a bad checkpoint", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  folder.save(checkpoint_at(10), 5);
  folder.save(checkpoint_at(20), 5);
  const fs::path file = folder.path_of(20) / "state.json";
  const auto good = nlohmann::json::parse(test::read_bytes(file));
  struct Change {
    const char* at;
    nlohmann::json value;
  };
  const std::vector<Change> changes{{"/state", nullptr},
                                    {"/state", 7},
                                    {"/state/step", "20"},
                                    {"/state/step", -20},
                                    {"/state/tokens", 1.5},
                                    {"/state/best", "no"},
                                    {"/files", 3},
                                    {"/files/model.safetensors", nullptr},
                                    {"/files/model.safetensors/bytes", "many"}};
  for (const auto& change : changes) {
    INFO(change.at << " = " << change.value.dump());
    auto content = good;
    content[nlohmann::json::json_pointer(change.at)] = change.value;
    write_state(file, content);
    CHECK(error_of([&] { folder.read(20); }).find(file.string() + ": written by another version") == 0);
    CHECK(folder.best_step() == std::nullopt);
  }
  int64_t step = 0;
  CHECK_THAT(warnings_of_newest(folder, step).at(0), Catch::Contains(file.string()));
  CHECK(step == 10);
}

TEST_CASE("a pipe or a folder in the place of a checkpoint's file is refused without waiting", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  const CheckpointFolder folder(temporary.path());
  folder.save(checkpoint_at(10), 5);
  folder.save(checkpoint_at(20), 5);
  const fs::path file =
      folder.path_of(20) / GENERATE(as<std::string>(), "model.safetensors", "optimizer.safetensors", "state.json");
  fs::remove(file);
  if (GENERATE(false, true)) {
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  } else {
    fs::create_directory(file);
  }
  CHECK_THAT(error_of([&] { folder.read_model(20); }),
             Catch::StartsWith(file.string() + ": not an ordinary file; " + folder.path_of(10).string()));
  int64_t step = 0;
  CHECK(warnings_of_newest(folder, step).size() == 1);
  CHECK(step == 10);
}

TEST_CASE("only a missing folder holds no checkpoints; a file or a broken link is refused", "[checkpoint]") {
  const test::TemporaryFolder temporary;
  CHECK(CheckpointFolder(temporary.path() / "none").steps().empty());
  test::write_bytes(temporary.path() / "file", "text");
  CHECK_THROWS_AS(CheckpointFolder(temporary.path() / "file").steps(), UserError);
  fs::create_symlink("nowhere", temporary.path() / "link");
  CHECK_THROWS_AS(CheckpointFolder(temporary.path() / "link").steps(), UserError);
}

}  // namespace skipless
