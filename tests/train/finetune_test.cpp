#include "train/finetune.h"

#include <fmt/format.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "configs/error.h"
#include "data/glue.h"
#include "data/sequence_builder.h"
#include "eval/glue_prediction.h"
#include "tests/temporary_folder.h"
#include "tests/train/small_encoder.h"
#include "train/finetune_run.h"
#include "train/glue_submission.h"
#include "train/imported_head.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TemporaryFolder;

namespace {

/// A place with an encoder ("run") and tasks ("glue").
class Place {
 public:
  explicit Place(int rows = 40) {
    test::write_encoder(folder_.path() / "run");
    test::write_tasks(folder_, rows);
  }

  const TemporaryFolder& folder() const { return folder_; }
  fs::path at(const std::string& name) const { return folder_.path() / name; }

  FinetuneConfig config(std::vector<std::string> overrides = {}) const {
    overrides.push_back(fmt::format("data.folder={}", at("glue").string()));
    return parse_config<FinetuneConfig>(
        "head: {hidden_width: 8}\n"
        "train: {epochs: 3, batch_size: 8, lr: 0.01, dropout: 0, threads: 1, eval_batch: 7}\n",
        "small", overrides);
  }

  FinetuneOptions options(std::vector<std::string> tasks, const std::string& out = "out") const {
    FinetuneOptions options;
    options.run = at("run");
    options.tasks = std::move(tasks);
    options.recipe = "small";
    options.out = at(out);
    options.version = "{}";
    return options;
  }

  json results(const std::string& out = "out") const { return json::parse(test::read_all(at(out) / "results.json")); }

 private:
  TemporaryFolder folder_;
};

std::string error_of(const FinetuneConfig& config, const FinetuneOptions& options) {
  try {
    finetune(config, options);
  } catch (const UserError& error) {
    return error.what();
  }
  FAIL("expected a UserError, got none");
  return {};
}

GlueTaskData data_of(const Place& place, const std::string& name, const Tokenizer& tokenizer, int64_t length = 32) {
  const GlueTask& task = glue_task(name);
  SequenceBuilder builder(tokenizer, length);
  const auto read = [&](const GlueFile& file, GlueSplit split) {
    return GlueSequences(read_glue(glue_folder(place.at("glue"), task) / file.name, task, split), task, builder);
  };
  GlueTaskData data{.task = &task,
                    .train = read(task.train[0], GlueSplit::train),
                    .dev = {},
                    .padding_id = 256,
                    .tokenizer = tokenizer.hash()};
  for (const auto& file : task.dev) data.dev.push_back(read(file, GlueSplit::dev));
  return data;
}

/// Of the model that a run kept.
std::map<std::string, at::Tensor> kept_model(const fs::path& run) {
  const CheckpointFolder checkpoints(run / kBestModel);
  return checkpoints.read_model(checkpoints.steps().back()).tensors;
}

bool same(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& item) {
           return b.contains(item.first) && item.second.equal(b.at(item.first));
         });
}

/// result.json without the time that it took.
json result_of(const fs::path& run) {
  json result = json::parse(test::read_all(run / "result.json"));
  result.erase("seconds");
  return result;
}

}  // namespace

TEST_CASE("each task is learned, its results are in one table, and what is done is not done again", "[finetune]") {
  const Place place;
  const auto config = place.config({"train.epochs=8"});
  auto options = place.options({"all"});
  REQUIRE(finetune(config, options).results.size() == 4);
  const json results = place.results();
  // What a model of 10^4 parameters reaches. Of labels the commonest has half or a third of the rows.
  const std::map<std::string, std::pair<std::string, double>> wanted{{"sst2", {"accuracy", 0.9}},
                                                                     {"rte", {"accuracy", 0.9}},
                                                                     {"stsb", {"Pearson", 0.6}},
                                                                     {"mnli", {"accuracy_mm", 0.8}}};
  for (const auto& [task, score] : wanted) {
    CAPTURE(task);
    CHECK(results["tasks"][task]["best"][score.first]["mean"].get<double>() > score.second);
    CHECK(results["tasks"][task]["runs"][0]["steps"] == 40);
  }
  CHECK(results["tasks"]["sst2"]["commonest_label"]["accuracy"].get<double>() == Approx(10.0 / 19));
  CHECK(results["tasks"]["stsb"]["commonest_label"]["Pearson"].is_null());
  CHECK(results["tasks"]["mnli"]["examples"] == json({40, 9, 8}));
  CHECK(results["average"]["last"]["missing"] == json({"QNLI", "QQP", "MRPC", "CoLA"}));
  CHECK(results["average"]["last"]["is_the_papers"] == false);
  CHECK_THAT(test::read_all(place.at("out/results.md")), Catch::Contains("SAS-P (paper)"));
  // The checkpoints on the way are gone, the best model is there.
  const auto run = place.at("out/sst2/seed_0");
  CHECK_FALSE(fs::exists(run / "checkpoints"));
  CHECK(fs::exists(run / "best"));

  const auto changed = fs::last_write_time(run / "result.json");
  options.tasks = {"sst2"};
  options.seeds = 2;
  finetune(config, options);
  CHECK(fs::last_write_time(run / "result.json") == changed);
  CHECK(place.results()["tasks"]["sst2"]["best"]["accuracy"]["seeds"].size() == 2);
  CHECK(place.results()["tasks"]["sst2"]["best"]["accuracy"]["seeds"][0] ==
        results["tasks"]["sst2"]["best"]["accuracy"]["seeds"][0]);
  CHECK_THAT(error_of(place.config({"train.epochs=8", "train.lr=0.02"}), options),
             Catch::Contains("train.lr is 0.01 in the run, 0.02 now"));
}

/// One task with one seed, without finetune() around it.
class OneRun {
 public:
  OneRun(const Place& place, const std::string& task, const std::vector<std::string>& overrides)
      : place_(place), tokenizer_(test::byte_tokenizer()), data_(data_of(place, task, tokenizer_)) {
    const auto recipe = place.config(overrides);
    const auto run = parse_config<RunConfig>(test::read_all(place.at("run/config.yaml")), "run");
    start_ = {.name = "untrained",
              .text = "untrained",
              .model = finetuned_config(run.model, recipe.train.dropout),
              .tensors = {}};
    config_ = {.model = start_.model, .glue = {.task = task, .start = start_.text}, .recipe = recipe};
  }

  std::optional<SeedResult> go(const char* name) const {
    return finetune_seed(config_, start_, data_, {.folder = place_.at(name), .version = "{}", .stop = &stop_});
  }

  const ModelConfig& model() const { return config_.model; }

 private:
  const Place& place_;
  BpeTokenizer tokenizer_;
  GlueTaskData data_;
  FinetuneStart start_;
  FinetuneRunConfig config_;
  StopSignal stop_;
};

TEST_CASE("a run that is stopped after every step ends as an unbroken one, with dropout and accumulation",
          "[finetune][resume]") {
  const Place place;
  const OneRun run(place, "stsb", {"train.dropout=0.1", "train.micro_batch=3", "train.epochs=2", "train.save_every=0"});
  const auto unbroken = run.go("unbroken");
  REQUIRE(unbroken);
  CHECK(unbroken->steps == 10);
  std::raise(SIGTERM);  // each call does one step, saves and ends
  int calls = 1;
  while (!run.go("stopped")) ++calls;
  CHECK(calls == 10);
  CHECK(result_of(place.at("unbroken")) == result_of(place.at("stopped")));
  CHECK(same(kept_model(place.at("unbroken")), kept_model(place.at("stopped"))));
  // The test can fail: what is compared was trained.
  CHECK_FALSE(
      same(kept_model(place.at("unbroken")), module_state(*glue_model(run.model(), {}, glue_task("stsb"), {}, ""))));
}

TEST_CASE("every epoch has each example once, in an order of its own", "[finetune]") {
  std::vector<std::vector<int64_t>> epochs(2);
  for (int64_t step = 0; step < 6; ++step) {
    const auto rows = glue_rows(10, 4, /*seed=*/1, step);
    CHECK(rows.size() == (step % 3 == 2 ? 2 : 4));
    auto& epoch = epochs[static_cast<size_t>(step / 3)];
    epoch.insert(epoch.end(), rows.begin(), rows.end());
  }
  CHECK(epochs[0] != epochs[1]);
  CHECK(glue_rows(10, 4, /*seed=*/2, 0) != glue_rows(10, 4, /*seed=*/1, 0));
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    CHECK(epoch == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
}

TEST_CASE("the best evaluation before a divergence stays", "[finetune]") {
  const Place place;
  const OneRun run(place, "sst2", {"train.epochs=2"});
  std::raise(SIGTERM);
  for (int step = 0; step < 6; ++step) REQUIRE_FALSE(run.go("seed"));
  const CheckpointFolder checkpoints(place.at("seed/checkpoints"));
  CHECK(checkpoints.steps() == std::vector<int64_t>{5, 6});
  auto broken = checkpoints.read(6);
  broken.model.tensors.at("embedding.tokens").fill_(std::numeric_limits<float>::infinity());
  fs::remove_all(checkpoints.path_of(6));
  checkpoints.save(broken, /*keep=*/1);
  const auto result = run.go("seed");
  REQUIRE(result);
  REQUIRE(result->divergence);
  CHECK(result->divergence->step == 7);
  CHECK(result->divergence->tensor == "parameter embedding.tokens");
  CHECK(result->last.empty());
  CHECK(result->best_step == 5);
  CHECK(std::isfinite(result->best.at(0).value));
  CHECK(at::isfinite(kept_model(place.at("seed")).at("embedding.tokens")).all().item<bool>());
}

TEST_CASE("the best evaluation is kept and is the final figure", "[finetune]") {
  const Place place;
  // The rate stays high: what is learned is lost again.
  const auto config = place.config({"train.lr=0.1", "train.schedule=constant", "train.epochs=6"});
  finetune(config, place.options({"rte"}));
  const json run = place.results()["tasks"]["rte"]["runs"][0];
  CHECK(run["best"]["accuracy"].get<double>() >= run["last"]["accuracy"].get<double>());
  const auto data = data_of(place, "rte", test::byte_tokenizer());
  const auto run_config = parse_config<RunConfig>(test::read_all(place.at("run/config.yaml")), "run");
  const auto model = glue_model(finetuned_config(run_config.model, 0), config.head, *data.task,
                                kept_model(place.at("out/rte/seed_0")), "kept");
  const auto predicted = predict_glue(*model, data.dev[0], 7, data.padding_id, at::kCPU);
  CHECK(glue_scores(*data.task, predicted, data.dev[0].labels(), "")[0].value == run["best"]["accuracy"].get<double>());
}

TEST_CASE("a seed that diverges ends with what is not finite, and the next one is trained", "[finetune]") {
  const Place place;
  test::write_encoder(place.at("run"), "bert", "", [](std::map<std::string, at::Tensor>& tensors) {
    tensors.at("block_0.norm.scale").fill_(std::numeric_limits<float>::infinity());
  });
  auto options = place.options({"sst2"});
  options.seeds = 2;
  const auto outcome = finetune(place.config(), options);
  REQUIRE(outcome.results[0].seeds.size() == 2);
  const json results = place.results();
  const json& run = results["tasks"]["sst2"]["runs"][1];
  CHECK(run["diverged"]["step"] == 1);
  CHECK_FALSE(run["diverged"]["tensor"].get<std::string>().empty());
  CHECK(results["tasks"]["sst2"]["last"]["accuracy"]["mean"].is_null());
  CHECK(results["tasks"]["sst2"]["best"]["accuracy"]["mean"].is_null());
  CHECK_FALSE(best_seed(outcome.results[0]));
}

TEST_CASE("examples are padded to the longest of their batch, and scores do not depend on the batch", "[finetune]") {
  const Place place;
  const auto tokenizer = test::byte_tokenizer();
  auto config = parse_config<RunConfig>(test::read_all(place.at("run/config.yaml")), "run").model;
  config.n_token_types = 2;
  const auto model_of = [&](const GlueTaskData& data) { return glue_model(config, {}, *data.task, {}, ""); };
  const std::vector<int64_t> rows{0, 1, 2};

  const auto rte = data_of(place, "rte", tokenizer);
  CHECK(rte.train.cut() == 40);
  CHECK(glue_batch(*model_of(rte), rte.train, rows, rte.padding_id).ids.sizes() == at::IntArrayRef({3, 32}));

  const auto sst2 = data_of(place, "sst2", tokenizer);
  const Batch padded = glue_batch(*model_of(sst2), sst2.train, rows, sst2.padding_id);
  CHECK(padded.ids.sizes() == at::IntArrayRef({3, 8}));  // [CLS] "good 1" [SEP], the others a letter less
  CHECK(padded.kept.sum(1).equal(at::tensor({7, 8, 7}, at::kLong)));
  CHECK(padded.ids[0][7].item<int64_t>() == sst2.padding_id);
  CHECK(padded.token_types.sum().item<int64_t>() == 0);
  CHECK(padded.labels.equal(at::tensor({0, 1, 0}, at::kLong)));

  const auto stsb = data_of(place, "stsb", tokenizer);
  const Batch pairs = glue_batch(*model_of(stsb), stsb.train, rows, stsb.padding_id);
  CHECK(pairs.labels.equal(at::tensor({0.5F, 1.5F, 2.5F})));
  CHECK_FALSE(pairs.kept.defined());
  CHECK(pairs.token_types[0].equal(at::tensor({0, 0, 0, 1, 1}, at::kLong)));  // [CLS] a [SEP] b [SEP]
  config.n_token_types = 0;
  CHECK_FALSE(glue_batch(*model_of(stsb), stsb.train, rows, stsb.padding_id).token_types.defined());

  for (const auto* data : {&sst2, &stsb}) {
    const auto model = model_of(*data);
    const auto one_by_one = predict_glue(*model, data->dev[0], 1, data->padding_id, at::kCPU);
    for (const int64_t size : {4, 19, 100}) {
      const auto together = predict_glue(*model, data->dev[0], size, data->padding_id, at::kCPU);
      REQUIRE(together.size() == 19);
      // Sums of float32 in another order.
      for (size_t i = 0; i < together.size(); ++i) CHECK(together[i] == Approx(one_by_one[i]).margin(1e-5));
    }
  }
}

TEST_CASE("outputs that are not finite are no predictions", "[finetune]") {
  const Place place;
  const auto data = data_of(place, "sst2", test::byte_tokenizer());
  const auto run_config = parse_config<RunConfig>(test::read_all(place.at("run/config.yaml")), "run");
  const auto model = glue_model(run_config.model, {}, *data.task, {}, "");
  {
    const c10::NoGradGuard no_grad;
    for (auto& parameter : model->parameters()) parameter.fill_(std::nan(""));
  }
  const auto predicted = predict_glue(*model, data.dev[0], 8, data.padding_id, at::kCPU);
  CHECK(std::isnan(predicted[0]));
  CHECK(std::isnan(glue_scores(*data.task, predicted, data.dev[0].labels(), "")[0].value));
}

TEST_CASE("RTE and STS-B begin with the model of MNLI when asked, each seed with its own", "[finetune]") {
  const Place place;
  auto options = place.options({"rte", "stsb", "sst2"});
  options.from_mnli = true;
  CHECK_THAT(error_of(place.config(), options),
             Catch::Contains("--from-mnli") && Catch::Contains("add mnli to --task"));
  options.tasks = {"rte", "sst2", "mnli"};
  finetune(place.config({"train.epochs=1"}), options);
  const json results = place.results();
  CHECK(results["tasks"]["rte"]["start"] == "mnli");
  CHECK(results["tasks"]["sst2"]["start"] == "run");
  const auto config = test::read_all(place.at("out/rte_from_mnli/seed_0/config.yaml"));
  CHECK_THAT(config, Catch::Contains("start: \"step 5 on MNLI, ") || Catch::Contains("start: step 5 on MNLI, "));
  CHECK_FALSE(fs::exists(place.at("out/rte")));

  options.tasks = {"stsb"};
  options.seeds = 2;
  CHECK_THAT(error_of(place.config({"train.epochs=1"}), options), Catch::Contains("no model of MNLI with seed 1"));
  options.seeds = 1;
  CHECK_THAT(error_of(place.config({"train.epochs=1", "train.lr=0.02"}), options), Catch::Contains("train.lr is 0.01"));
  test::write_encoder(place.at("run"), "bert", ", init_std: 0.03");
  CHECK_THAT(error_of(place.config({"train.epochs=1"}), options), Catch::Contains("model.init_std is 0.02"));
  CHECK_FALSE(fs::exists(place.at("out/stsb_from_mnli")));
}

TEST_CASE("scores of other examples are not taken for these", "[finetune]") {
  const Place place;
  finetune(place.config({"train.epochs=1"}), place.options({"sst2"}));
  const auto dev = test::read_all(place.at("glue/SST-2/dev.tsv"));
  place.folder().write("glue/SST-2/dev.tsv", dev + "one more\t1\n");
  CHECK_THAT(error_of(place.config({"train.epochs=1"}), place.options({"sst2"})),
             Catch::Contains("glue.data is \"train"));
}

TEST_CASE("seeds that no number holds are refused", "[finetune]") {
  const Place place;
  auto options = place.options({"sst2"});
  options.seeds = 2;
  CHECK_THAT(error_of(place.config({"train.seed=9223372036854775807"}), options), Catch::Contains("too large"));
}

TEST_CASE("a folder for the leaderboard that is none is told before the first step", "[finetune]") {
  const Place place;
  auto options = place.options({"sst2"});
  options.submit = place.folder().write("file", "");
  CHECK_THROWS_WITH(finetune(place.config(), options), Catch::Contains("file"));
  CHECK_FALSE(fs::exists(place.at("out")));
}

TEST_CASE("the leaderboard's files have the names and the labels that it wants", "[finetune]") {
  const Place place;
  auto options = place.options({"all"});
  options.submit = place.at("submit");
  finetune(place.config({"train.epochs=8"}), options);
  const auto text = [&](const char* name) { return test::read_all(place.at("submit") / name); };
  CHECK(text("SST-2.tsv") == "index\tprediction\n0\t1\n1\t1\n2\t1\n");
  CHECK(text("RTE.tsv") == "index\tprediction\n0\tentailment\n1\tentailment\n");
  CHECK(text("MNLI-m.tsv") == "index\tprediction\n5\tcontradiction\n6\tcontradiction\n");
  CHECK(text("MNLI-mm.tsv") == text("MNLI-m.tsv"));
  CHECK(text("AX.tsv") == text("MNLI-m.tsv"));
  CHECK_THAT(text("STS-B.tsv"), Catch::StartsWith("index\tprediction\n0\t"));
  CHECK_FALSE(fs::exists(place.at("submit/CoLA.tsv")));
}

TEST_CASE("mistakes are told before the first step", "[finetune]") {
  const Place place;
  const auto config = place.config();
  SECTION("a causal model") {
    test::write_encoder(place.at("gpt"), "gpt");
    auto options = place.options({"sst2"});
    options.run = place.at("gpt");
    CHECK_THAT(error_of(config, options), Catch::Contains("a gpt model") && Catch::Contains("needs an encoder"));
  }
  SECTION("another tokenizer") {
    auto options = place.options({"sst2"});
    options.tokenizer = place.folder().write("other.json", test::byte_tokenizer(1).to_json()).string();
    CHECK_THAT(error_of(config, options), Catch::Contains("another tokenizer"));
  }
  SECTION("a bad label of the last task") {
    place.folder().write("glue/STS-B/dev.tsv", "sentence1\tsentence2\tscore\na\tb\t5.5\n");
    CHECK_THAT(error_of(config, place.options({"sst2", "stsb"})),
               Catch::Contains("dev.tsv:2:") && Catch::Contains("from 0 to 5"));
  }
  SECTION("tasks that are none, or not there") {
    CHECK_THAT(error_of(config, place.options({"sst3"})), Catch::Contains("did you mean 'sst2'?"));
    CHECK_THAT(error_of(config, place.options({"cola"})), Catch::Contains("no folder for CoLA"));
    CHECK_THAT(error_of(config, place.options({"ax"})), Catch::Contains("no training data"));
    fs::remove_all(place.at("glue"));
    CHECK_THAT(error_of(config, place.options({"all"})), Catch::Contains("is not a folder"));
  }
  SECTION("a model that the run's tensors do not fit, or that is none") {
    auto options = place.options({"sst2"});
    options.model = {"model.d_ff=64"};
    CHECK_THAT(error_of(config, options), Catch::Contains("'block_0.feed_forward.w_1' is missing or of another shape"));
    options.model = {"model.sas_p.beta_fff=1"};
    CHECK_THAT(error_of(config, options), Catch::Contains("did you mean 'beta_ff'?"));
    options.model = {"model.kind=gpt"};
    CHECK_THAT(error_of(config, options), Catch::Contains("needs an encoder"));
    options.model = {"model.sas_p.beta_ff.feedback.power=0.5"};
    CHECK_THAT(error_of(config, options), Catch::Contains("trained or adjusted, not both"));
  }
  SECTION("no test file to predict") {
    fs::remove(place.at("glue/RTE/test.tsv"));
    auto options = place.options({"rte"});
    options.submit = place.at("submit");
    CHECK_THAT(error_of(config, options), Catch::Contains("test.tsv"));
  }
  CHECK_FALSE(fs::exists(place.at("out")));
}

TEST_CASE("a head that was imported is begun with, its classes by their names", "[finetune]") {
  SequenceHead head{.config = {}, .labels = {"contradiction", "entailment", "neutral"}, .tensors = {}};
  head.tensors["head_w_1"] = at::full({8, 16}, 2.0F);
  head.tensors["head_b_1"] = at::full({8}, 3.0F);
  head.tensors["head_w_2"] = at::arange(3, at::kFloat).unsqueeze(1).expand({3, 8}).contiguous();
  head.tensors["head_b_2"] = at::arange(3, at::kFloat);
  const auto added = [&](const char* task) {
    std::map<std::string, at::Tensor> tensors;
    add_imported_head(head, glue_task(task), tensors);
    return tensors;
  };
  // Of entailment, neutral, contradiction: rows 1, 2, 0.
  CHECK(added("mnli").at("head_b_2").equal(at::tensor({1.0F, 2.0F, 0.0F})));
  CHECK(added("mnli").at("head_w_2")[2].equal(at::zeros({8})));
  CHECK(added("rte").size() == 2);
  CHECK(added("rte").at("head_b_1").equal(head.tensors["head_b_1"]));
  CHECK_FALSE(added("stsb").contains("head_w_2"));
  head.labels = {};
  CHECK_FALSE(added("mnli").contains("head_w_2"));  // in which order is not known

  const Place place;
  write_sequence_head(place.at("run/head.safetensors"), head);
  finetune(place.config({"train.epochs=1", "train.lr=0", "train.batch_size=40"}), place.options({"sst2"}));
  CHECK(kept_model(place.at("out/sst2/seed_0")).at("head_w_1").equal(head.tensors["head_w_1"]));
}

TEST_CASE("an untrained model of the same shape is a start too", "[finetune]") {
  const Place place;
  auto options = place.options({"sst2"}, "");
  options.out.clear();
  finetune(place.config({"train.epochs=1"}), options);
  options.untrained = true;
  finetune(place.config({"train.epochs=1"}), options);
  const auto text = [&](const char* folder) { return test::read_all(place.at(folder) / "sst2/seed_0/config.yaml"); };
  CHECK_THAT(text("run/finetune/small_untrained"), Catch::Contains("start: untrained"));
  CHECK_THAT(text("run/finetune/small"), Catch::Contains("step 0 of the run, "));
  CHECK_FALSE(same(kept_model(place.at("run/finetune/small/sst2/seed_0")),
                   kept_model(place.at("run/finetune/small_untrained/sst2/seed_0"))));
}

TEST_CASE("gains of the run's model follow feedback in fine-tuning when asked", "[finetune]") {
  const Place place;
  auto options = place.options({"sst2"});
  options.model = {"model.sas_p.beta_ff.trainable=false", "model.sas_p.beta_ff.feedback.power=0.5"};
  finetune(place.config({"train.epochs=1"}), options);
  const auto tensors = kept_model(place.at("out/sst2/seed_0"));
  CHECK(tensors.at("block_0.beta_ff.feedback_target").item<double>() > 0);
  CHECK(tensors.at("block_0.beta_ff.value").item<float>() != 0.1F);
  CHECK_FALSE(tensors.contains("block_0.beta_sa.feedback_target"));
  CHECK_THAT(test::read_all(place.at("out/sst2/seed_0/config.yaml")), Catch::Contains("power: 0.5"));
}

TEST_CASE("labels are written by name, numbers within their range", "[finetune]") {
  CHECK(submission_text(glue_task("stsb"), std::vector<int64_t>{0, 1, 2}, std::vector<double>{-0.25, 2.71828, 6}) ==
        "index\tprediction\n0\t0\n1\t2.71828\n2\t5\n");
  CHECK(submission_text(glue_task("mnli"), std::vector<int64_t>{7, 8, 9}, std::vector<double>{0, 1, 2}) ==
        "index\tprediction\n7\tentailment\n8\tneutral\n9\tcontradiction\n");
  CHECK(submission_text(glue_task("cola"), std::vector<int64_t>{0}, std::vector<double>{1}) ==
        "index\tprediction\n0\t1\n");
  CHECK_THROWS_AS(submission_text(glue_task("rte"), std::vector<int64_t>{0}, std::vector<double>{std::nan("")}),
                  RunError);
}

TEST_CASE("the two recipes are those of the paper and of Cramming", "[finetune]") {
  const auto read = [](const char* name) {
    return read_config_file<FinetuneConfig>(fs::path(SKIPLESS_SOURCE_DIR) / "configs" / name);
  };
  const auto paper = read("finetune_paper.yaml");
  CHECK(paper.train.epochs == 5);
  CHECK(paper.train.batch_size == 32);
  CHECK(paper.train.schedule.lr == 1.5e-4);
  CHECK(paper.train.schedule.schedule == ScheduleKind::cosine);
  CHECK(paper.train.optimizer.eps == 1e-6);
  CHECK(paper.train.dropout == 0.1);
  const auto cramming = read("finetune_cramming.yaml");
  CHECK(cramming.train.epochs == 5);
  CHECK(cramming.train.batch_size == 16);
  CHECK(cramming.train.schedule.lr == 4e-5);
  CHECK(cramming.train.schedule.warmup_fraction == 0.1);
  CHECK(cramming.train.optimizer.beta1 == 0.9);
  CHECK(cramming.train.optimizer.beta2 == 0.98);
  CHECK(cramming.train.optimizer.weight_decay == 0);
  CHECK(cramming.train.clip_norm == 0);
  CHECK(cramming.data.max_length == 128);
}

}  // namespace skipless
