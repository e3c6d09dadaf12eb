// The program as a whole: what it says of itself, its exit codes, and training through evaluation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using test::Result;
using test::Workplace;

namespace {

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("the program says what it is and what it runs on", "[program]") {
  const test::TemporaryFolder folder;
  const Result version = test::shell(folder.path(), "\"$skipless\" --version");
  CHECK(version.code == 0);
  for (const char* part : {"skipless ", "commit", "LibTorch", "CUDA", "cuDNN", "architectures", "devices", "cpu"}) {
    CHECK_THAT(version.out, Contains(part));
  }
  const Result help = test::shell(folder.path(), "\"$skipless\" --help");
  CHECK(help.code == 0);
  for (const char* part : {"prepare", "info", "train", "eval", "generate", "convert", "--log-level"}) {
    CHECK_THAT(help.out, Contains(part));
  }
  const Result keys = test::shell(folder.path(), "\"$skipless\" train --keys");
  CHECK(keys.code == 0);
  for (const char* part : {"train.warmup_fraction", "model.sas.", "data.folder", "train.clip_norm"}) {
    CHECK_THAT(keys.out, Contains(part));
  }
  CHECK_THAT(test::shell(folder.path(), "\"$skipless\" train --help").out, Contains("--keys"));
}

TEST_CASE("idle OpenMP threads sleep, unless the user says otherwise", "[program]") {
  const test::TemporaryFolder folder;
  // The library says what it has read each time it is loaded; what counts is the last time.
  const auto spins = [&](const char* before) {
    return test::shell(folder.path(), fmt::format("{} OMP_DISPLAY_ENV=verbose \"$skipless\" eval none 2>&1 | "
                                                  "sed -n \"s/.*GOMP_SPINCOUNT = '\\(.*\\)'.*/\\1/p\" | tail -n 1",
                                                  before))
        .out;
  };
  CHECK(spins("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT") == "0\n");
  CHECK(spins("env OMP_WAIT_POLICY=active") != "0\n");
  CHECK(spins("env GOMP_SPINCOUNT=7") == "7\n");
}

TEST_CASE("mistakes end with code 2 and one clear message, before anything is made", "[program][mistakes]") {
  const Workplace place;
  INFO(place.prepared().err);
  REQUIRE(place.prepared().code == 0);
  test::write_text(place.path() / "file", "text");
  struct Mistake {
    const char* arguments;
    const char* said;
  };
  const std::vector<Mistake> mistakes{
      Mistake{"", "prepare, info, train"},
      Mistake{"tarin small.yaml", "did you mean 'train'"},
      Mistake{"train --run run", "config is needed"},
      Mistake{"train small.yaml", "--run DIR is needed"},
      Mistake{"train missing.yaml --run run", "missing.yaml"},
      Mistake{"train data --run run", "data"},
      Mistake{"train small.yaml train.lrr=1 --run run", "train.lr"},
      Mistake{"train small.yaml train.lr=1 train.lr=2 --run run", "train.lr"},
      Mistake{"train small.yaml train.lr=fast --run run", "train.lr"},
      Mistake{"train small.yaml train.micro_batch=0 --run run", "train.micro_batch"},
      Mistake{"train small.yaml model.n_head=3 --run run", "model.n_head"},
      Mistake{"train small.yaml small.yaml --run run", "neither key=value nor the config"},
      Mistake{"train small.yaml model.vocab_size=50 --run run", "model.vocab_size is 50"},
      Mistake{"train small.yaml train.batch_size=100000 --run run", "fewer than one batch"},
      Mistake{"train small.yaml data.folder=source --run run", "source"},
      Mistake{"train small.yaml data.folder=none --run run", "none"},
      Mistake{"train small.yaml data.folder=file --run run", "file"},
      Mistake{"train small.yaml --device cuda:99 --run run", "cuda:99"},
      Mistake{"train small.yaml --device tpu --run run", "cpu, cuda, cuda:N"},
      Mistake{"train small.yaml --run file", "file"},
      Mistake{"train small.yaml --run file/run", "file"},
      Mistake{"train small.yaml --run source", "neither empty nor the folder of a run"},
      Mistake{"train small.yaml --run /proc/run", "/proc/run"},
      Mistake{"--log-level loud train small.yaml --run run", "loud"},
      Mistake{"train small.yaml --device '' --run run", "--device: is empty"},
      Mistake{"train small.yaml model.sas.alpha.init=1e39 --run run", "model.sas.alpha.init"},
      Mistake{"train small.yaml --nope --run run", "error: The following argument was not expected: --nope"},
      Mistake{"eval data --data ''", "--data: is empty"},
      Mistake{"eval data --device ''", "--device: is empty"},
      Mistake{"convert file run --data ''", "--data: is empty"},
      Mistake{"eval ''", "run: is empty"},
      Mistake{"fill '' '[MASK]'", "run: is empty"},
      Mistake{"generate '' --prompt x", "run: is empty"},
      Mistake{"convert '' run", "in: is empty"},
      Mistake{"convert file ''", "out: is empty"},
      Mistake{"finetune '' --task sst2", "run: is empty"},
      Mistake{"info ''", "config: is empty"},
      Mistake{"train small.yaml --run ''", "--run: is empty"},
      Mistake{"prepare '' --tokenizer t --out run", "paths: is empty"},
      Mistake{"eval none", "none"},
      Mistake{"eval file", "a file"},
      Mistake{"eval data", "no config.yaml"},
      Mistake{"eval", "run"},
      Mistake{"eval data --tokens 0", "--tokens"}};
  for (const auto& mistake : mistakes) {
    INFO(mistake.arguments);
    const Result result = place.run(fmt::format("\"$skipless\" {}", mistake.arguments));
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, Contains(mistake.said));
    CHECK(lines_of(result.err) <= 2);
    CHECK(result.err.rfind("error: ", 0) == 0);
    CHECK_FALSE(place.exists("run"));
    CHECK(place.text("file") == "text");
  }
}

TEST_CASE("a run trains, is evaluated, and is done when it is done", "[program]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const Result train = place.run("\"$skipless\" train small.yaml train.lr=0.01 --run 'the run'");
  INFO(train.err);
  REQUIRE(train.code == 0);
  CHECK_THAT(train.out, Contains("decayed, weight decay 0.1") && Contains("step 20/20") && Contains("validation loss"));
  CHECK_THAT(train.out, !Contains("\x1b"));
  CHECK_THAT(place.text("the run/train.log"), Contains("step 20/20"));
  CHECK_THAT(place.text("the run/config.yaml"), Contains("lr: 0.01"));
  CHECK(nlohmann::json::parse(place.text("the run/version.json")).contains("commit"));

  nlohmann::json last;
  std::istringstream metrics(place.text("the run/metrics.jsonl"));
  for (std::string line; std::getline(metrics, line);) {
    if (auto entry = nlohmann::json::parse(line); entry.at("kind") == "eval") last = entry;
  }
  const Result eval = place.run("\"$skipless\" eval 'the run' --tokens 512 --json");
  INFO(eval.err);
  REQUIRE(eval.code == 0);
  CHECK(lines_of(eval.out) == 1);
  const auto json = nlohmann::json::parse(eval.out);
  CHECK(json.at("loss") == last.at("loss"));
  CHECK(json.at("predicted_tokens") == last.at("predicted_tokens"));
  CHECK(json.at("step") == 20);
  CHECK_THAT(place.run("\"$skipless\" eval 'the run' --checkpoint 10 --split train").out,
             Contains("train loss") && Contains("step 10"));

  const Result again = place.run("\"$skipless\" train --run 'the run'");
  CHECK(again.code == 0);
  CHECK_THAT(again.out, Contains("done, all 20 steps"));
  const Result other = place.run("\"$skipless\" train small.yaml train.lr=0.02 train.beta1=0.8 --run 'the run'");
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Contains("train.lr is 0.01 in the run, 0.02 now") && Contains("train.beta1"));
}

TEST_CASE("packed chunks train and are evaluated as the run's own", "[program]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const std::string train = "\"$skipless\" train small.yaml data.chunking=packed ";
  REQUIRE(place.run(train + "--run whole").code == 0);
  const auto last_eval = [&](const std::string& run) {
    nlohmann::json last;
    std::istringstream metrics(place.text(run + "/metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) {
      const auto entry = nlohmann::json::parse(line);
      if (entry.at("kind") == "eval") last = entry;
      if (entry.at("kind") == "train") CHECK(entry.at("data_wait_ms") >= 0);
    }
    return last;
  };
  const auto json = nlohmann::json::parse(place.run("\"$skipless\" eval whole --tokens 512 --json").out);
  CHECK(json.at("loss") == last_eval("whole").at("loss"));
  CHECK(json.at("predicted_tokens") == 32 * 15);
  CHECK(place.run("\"$skipless\" train small.yaml --run whole").code == 2);  // another chunking: another run
}

TEST_CASE("data made with another tokenizer are refused by eval", "[program][mistakes]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  REQUIRE(place.run("\"$skipless\" train small.yaml train.steps=1 train.warmup_steps=0 --run run").code == 0);
  auto tokenizer = nlohmann::json::parse(place.text("data/tokenizer.json"));
  auto& merges = tokenizer["model"]["merges"];
  std::swap(merges[merges.size() - 1], merges[merges.size() - 2]);
  std::filesystem::create_directory(place.path() / "tok");
  test::write_text(place.path() / "tok/tokenizer.json", tokenizer.dump());
  const Result prepared = place.run(
      "\"$skipless\" prepare source --glob '*.py' --validation-fraction 0.25 --tokenizer tok/tokenizer.json --out "
      "other");
  INFO(prepared.err);
  REQUIRE(prepared.code == 0);
  const Result eval = place.run("\"$skipless\" eval run --data other");
  CHECK(eval.code == 2);
  CHECK_THAT(eval.err, Contains("another tokenizer"));
}

TEST_CASE("output that cannot be written is an error, and a closed pipe is not a crash", "[program]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const Result train =
      place.run("\"$skipless\" train small.yaml train.steps=2 train.warmup_steps=0 --run run > /dev/full");
  CHECK(train.code == 1);
  CHECK(train.err == "error: cannot write to standard output: No space left on device\n");
  CHECK(place.exists("run/checkpoints/step_000002/state.json"));  // training itself went on
  CHECK(place.run("\"$skipless\" eval run > /dev/full").code == 1);
  const Result pipe = place.run("\"$skipless\" train --keys | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}");
  CHECK(pipe.code <= 1);
}

TEST_CASE("a program started without standard streams writes its text into no other file", "[program]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const Result train = place.run(
      "\"$skipless\" train small.yaml train.steps=2 train.warmup_steps=0 --run run <&- >&- 2>&-; code=$?\n"
      "cat run/lock; exit $code");
  CHECK(train.code == 0);
  CHECK(train.out.empty());
  CHECK(place.text("run/metrics.jsonl").find("step 2/2") == std::string::npos);
  CHECK(place.run("\"$skipless\" train missing.yaml --run other >&- 2>&-").code == 2);
  CHECK(place.run("\"$skipless\" train missing.yaml --run other > /dev/full 2> /dev/full").code == 2);
  CHECK(place.run("\"$skipless\" train --keys 2> /dev/full > /dev/full").code == 1);
}

TEST_CASE("a folder whose name is no UTF-8 still gives one JSON object", "[program]") {
  const Workplace place;
  REQUIRE(place.prepared().code == 0);
  const std::string run = "$'run \\xff'";
  REQUIRE(place.run("\"$skipless\" train small.yaml train.steps=1 train.warmup_steps=0 --run " + run).code == 0);
  const Result eval = place.run("\"$skipless\" eval --json --tokens 512 " + run);
  INFO(eval.err);
  CHECK(eval.code == 0);
  CHECK(nlohmann::json::parse(eval.out).at("run") == "run \ufffd");
}

}  // namespace skipless
