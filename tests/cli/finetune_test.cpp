// A masked language model, trained and fine-tuned by the program.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using nlohmann::json;
using test::Result;

namespace {

/// The folder of a task whose label is the first word.
void write_task(const std::filesystem::path& glue, const std::string& folder, const std::string& header,
                const std::string& test_header, bool pair) {
  std::filesystem::create_directories(glue / folder);
  const auto rows = [&](int n, bool labels) {
    std::string text = (labels ? header : test_header) + "\n";
    for (int i = 0; i < n; ++i) {
      const std::string sentence = fmt::format("{} film {}", i % 2 == 1 ? "good" : "bad", i % 5);
      const std::string both = pair ? sentence + "\tthe other one" : sentence;
      text += labels ? fmt::format("{}\t{}\n", both, i % 2) : fmt::format("{}\t{}\n", i, both);
    }
    return text;
  };
  test::write_text(glue / folder / "train.tsv", rows(24, true));
  test::write_text(glue / folder / "dev.tsv", rows(9, true));
  test::write_text(glue / folder / "test.tsv", rows(3, false));
}

/// A place with an encoder of 5 steps ("bert"), a causal run ("gpt") and tasks ("glue"), made once.
const test::Workplace& place() {
  static const test::Workplace kPlace;
  static const Result kTrained = [] {
    write_task(kPlace.path() / "glue", "SST-2", "sentence\tlabel", "index\tsentence", false);
    write_task(kPlace.path() / "glue", "WNLI", "sentence1\tsentence2\tlabel", "index\tsentence1\tsentence2", true);
    test::write_text(
        kPlace.path() / "bert.yaml",
        "model: {kind: bert, block: sas_p, n_layer: 1, d_model: 16, n_head: 2, d_ff: 16, vocab_size: 8192, "
        "context_length: 16}\n"
        "data: {folder: words}\n"
        "train: {steps: 5, batch_size: 4, eval_every: 0, threads: 1}\n");
    return kPlace.run(
        fmt::format("\"$skipless\" prepare source --glob '*.py' --validation-fraction 0.25 --tokenizer "
                    "'{}/data/tokenizers/english_8192' --out words && \"$skipless\" train bert.yaml --run bert && "
                    "\"$skipless\" train small.yaml train.steps=1 train.warmup_steps=0 --run gpt",
                    SKIPLESS_SOURCE_DIR));
  }();
  INFO(kTrained.err);
  REQUIRE(kTrained.code == 0);
  return kPlace;
}

Result finetune(const std::string& arguments) {
  return place().run("\"$skipless\" finetune " + arguments);
}

const std::string kQuick = " train.epochs=1 train.batch_size=8 head.hidden_width=8 train.threads=1 ";

}  // namespace

TEST_CASE("finetune prints the table, keeps its results, and predicts for the leaderboard", "[program][finetune]") {
  const Result first = finetune("bert --task all --glue glue --seeds 2 --out tuned --submit sent" + kQuick);
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(first.out, Contains("| Pre-LN (Crammed) (paper) | 81.2 |") && Contains("**sas_p**, last epoch"));
  CHECK_THAT(first.out, Contains("not the paper's average"));
  CHECK_THAT(first.err, Contains("glue has no MNLI, STS-B, RTE, QNLI, QQP, MRPC, CoLA"));
  const auto results = json::parse(place().text("tuned/results.json"));
  CHECK(results["seeds"] == json({0, 1}));
  CHECK(results["tasks"]["sst2"]["last"]["accuracy"]["seeds"].size() == 2);
  CHECK(results["tasks"].contains("wnli"));  // the leaderboard wants it
  CHECK_THAT(place().text("sent/SST-2.tsv"), Catch::StartsWith("index\tprediction\n0\t"));
  CHECK_THAT(place().text("sent/WNLI.tsv"), Catch::StartsWith("index\tprediction\n0\t"));
  CHECK(place().text("tuned/results.md") == first.out.substr(first.out.find("bert: block sas_p")));

  // Once more: nothing is trained, the folder comes from the environment.
  const Result second = place().run(
      "export SKIPLESS_GLUE=glue; \"$skipless\" --log-level error finetune bert --task sst2 "
      "--seeds 2 --out tuned --json" +
      kQuick);
  INFO(second.err);
  REQUIRE(second.code == 0);
  CHECK(json::parse(second.out)["tasks"]["sst2"] == results["tasks"]["sst2"]);
}

TEST_CASE("a checkpoint that cannot be saved ends fine-tuning with code 1, and the same command goes on",
          "[program][finetune]") {
  const std::string command = "finetune bert --task sst2 --glue glue --out full" + kQuick;
  const Result full = place().run("ulimit -f 200; \"$skipless\" " + command);
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Contains("step 3 could not be saved; the same command continues"));
  CHECK_FALSE(place().exists("full/sst2/seed_0/result.json"));
  CHECK_FALSE(place().exists("full/results.json"));
  const Result again = place().run("\"$skipless\" " + command);
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(json::parse(place().text("full/sst2/seed_0/result.json"))["best_step"] == 3);
  CHECK(place().exists("full/sst2/seed_0/best"));
}

TEST_CASE("finetune lists its keys, and takes a recipe from a file", "[program][finetune]") {
  const Result keys = finetune("--keys");
  CHECK(keys.code == 0);
  CHECK_THAT(keys.out, Contains("train.epochs") && Contains("head.pooling") && Contains("data.max_length"));
  test::write_text(place().path() / "mine.yaml",
                   "train: {epochs: 1, batch_size: 12, threads: 1}\nhead: {hidden_layer: false, pooling: mean}\n");
  const Result mine = finetune("bert --task sst2 --glue glue --recipe mine.yaml");
  INFO(mine.err);
  REQUIRE(mine.code == 0);
  CHECK_THAT(mine.out, Contains("recipe mine"));
  CHECK(place().exists("bert/finetune/mine/sst2/seed_0/result.json"));
}

TEST_CASE("finetune refuses what it cannot do, with code 2 and in one line", "[program][finetune][mistakes]") {
  struct Mistake {
    const char* arguments;
    const char* said;
  };
  test::write_text(place().path() / "wrong.yaml", "train: {epoch: 3}\n");
  std::filesystem::create_directories(place().path() / "other/SST-2");
  test::write_text(place().path() / "other/SST-2/train.tsv", "sentence\tlabel\na\t1\nb\t2\n");
  for (const auto& mistake : std::vector<Mistake>{
           Mistake{"", "RUN is needed"}, Mistake{"bert --glue glue", "--task is needed"},
           Mistake{"bert --task sst2", "where are the GLUE tasks? --glue DIR, SKIPLESS_GLUE or data.folder"},
           Mistake{"bert --task sst3 --glue glue", "there is no task 'sst3' (did you mean 'sst2'?)"},
           Mistake{"bert --task mrpc --glue glue", "no folder for MRPC (MRPC); it holds: SST-2, WNLI"},
           Mistake{"bert --task sst2 --glue nowhere", "'nowhere' is not a folder"},
           Mistake{"bert --task sst2 --glue other", "train.tsv:3: '2' is no label of SST-2; allowed: 0, 1"},
           Mistake{"gpt --task sst2 --glue glue", "a gpt model, whose tokens do not see those after them"},
           Mistake{"nothing --task sst2 --glue glue", "no such run folder"},
           Mistake{"bert --task sst2 --glue glue --tokenizer data", "another tokenizer"},
           Mistake{"bert --task rte --glue glue --from-mnli", "no folder for RTE"},
           Mistake{"bert --task sst2 --glue glue --from-mnli --untrained", "excludes"},
           Mistake{"bert --task sst2 --glue glue --seeds 0", "'0' is out of range"},
           Mistake{"bert --task sst2 --glue glue --recipe wrong.yaml", "epochs"},
           Mistake{"bert --task sst2 --glue glue --recipe none.yaml", "none.yaml"},
           Mistake{"bert --task sst2 --glue glue modle.block=x", "'modle' is no section; known at the top: data"},
           Mistake{"bert --task sst2 --glue glue --device cpu1", "'cpu1' is not one of"}}) {
    INFO(mistake.arguments);
    const Result result = finetune(mistake.arguments);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, Contains(mistake.said));
    CHECK(result.err.find("error: ") != std::string::npos);
  }
}

}  // namespace skipless
