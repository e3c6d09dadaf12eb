// Pre-training of a masked language model: rows, evaluation, runs.
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "configs/error.h"
#include "eval/loss.h"
#include "models/make_model.h"
#include "models/model_info.h"
#include "tests/train/masked_run.h"
#include "tests/train/trained_run.h"
#include "train/learner.h"
#include "train/load_run.h"
#include "train/run_setup.h"
#include "train/training_rows.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace fs = std::filesystem;
using test::checkpoints_of;
using test::error_of;
using test::go_back;
using test::masked_overrides;
using test::metrics_of;
using test::require_same_run;
using test::run;

namespace {

// float32 sums of some hundred terms in another order
constexpr double kSummationOrder = 1e-5;

RunConfig masked_config(const std::vector<std::string>& more = {}) {
  return test::small_run_config(masked_overrides(more));
}

struct Rows {
  explicit Rows(const RunConfig& config) : data(open_data(config)), rows(config, data) {}

  PreparedData data;
  TrainingRows rows;
};

/// The tokens as they were before they were masked, by the exact rule: no row has more labels than another.
at::Tensor original(const Batch& batch) {
  return batch.ids.scatter(1, batch.positions, batch.labels);
}

}  // namespace

TEST_CASE("a row is masked by its number alone, however rows are cut into batches", "[masked_run]") {
  const std::string rule = GENERATE("exact", "bernoulli");
  const Rows rows(masked_config({"data.masking.rule=" + rule}));
  const Batch all = rows.rows.batch(5, 9);
  CHECK(all.ids.sizes() == std::vector<int64_t>{9, 16});
  CHECK(all.labels.sizes() == all.positions.sizes());
  for (int64_t i = 0; i < 9; ++i) {
    const Batch one = rows.rows.batch(5 + i, 1);
    CHECK(one.ids[0].equal(all.ids[i]));
    const int64_t count = one.labels.size(1);
    CHECK(one.labels[0].equal(all.labels[i].narrow(0, 0, count)));
    CHECK(one.positions[0].equal(all.positions[i].narrow(0, 0, count)));
    CHECK(all.labels[i].narrow(0, count, all.labels.size(1) - count).eq(kIgnoredTarget).all().item<bool>());
  }
  if (rule == "exact") CHECK(all.labels.ge(0).sum().item<int64_t>() == 9 * 4);  // a quarter of 16 tokens
  CHECK(all.ids.eq(test::kMaskId).any().item<bool>());
  // Made ahead by the thread, they are the same.
  auto made = at::empty({9, rows.rows.row_length()}, at::kLong);
  rows.rows.loader(5)->take({made.data_ptr<int64_t>(), static_cast<size_t>(made.numel())});
  CHECK(rows.rows.batch(made).ids.equal(all.ids));
  CHECK(rows.rows.batch(made).labels.equal(all.labels));
}

TEST_CASE("what is masked are the chunks of the causal model, in each epoch and by each seed otherwise",
          "[masked_run]") {
  const Rows rows(masked_config()), other(masked_config({"train.data_seed=1"}));
  // The causal model on the same data.
  const Rows plain(test::small_run_config({fmt::format("model.vocab_size={}", test::kSmallVocabulary + 1),
                                           "data.folder=" + test::masked_data().string(), "data.chunking=packed"}));
  const int64_t epoch = rows.rows.chunks();
  const Batch first = rows.rows.batch(0, epoch), second = rows.rows.batch(epoch, epoch);
  const Batch chunks = plain.rows.batch(0, epoch);
  CHECK_FALSE(chunks.labels.defined());
  CHECK_FALSE(chunks.positions.defined());
  CHECK(plain.rows.row_length() == 16);
  CHECK(original(first).equal(chunks.ids));
  CHECK_FALSE(first.ids.equal(chunks.ids));
  CHECK(original(second).equal(plain.rows.batch(epoch, epoch).ids));
  // The chunks of an epoch, each with where it is masked: those of another epoch or seed are masked elsewhere.
  const auto masks = [](const Batch& batch) {
    const auto tokens = original(batch);
    std::set<std::string> set;
    for (int64_t i = 0; i < tokens.size(0); ++i) {
      std::string text;
      for (const auto& part : {tokens[i], batch.positions[i]}) {
        for (int64_t k = 0; k < part.size(0); ++k) text += fmt::format("{} ", part[k].item<int64_t>());
      }
      set.insert(text);
    }
    return set;
  };
  const auto known = masks(first);
  for (const auto& batch : {second, other.rows.batch(0, epoch)}) {
    size_t same = 0;
    for (const auto& text : masks(batch)) same += known.count(text);
    // 1 of 1,820 ways to choose 4 of 16
    CHECK(same < known.size() / 20);
  }
}

TEST_CASE("a masked run resumed equals an unbroken one bit for bit, with a ramp and bernoulli masks",
          "[masked_run][resume]") {
  const test::TemporaryFolder temporary;
  const fs::path unbroken = temporary.path() / "unbroken", stopped = temporary.path() / "stopped";
  const auto overrides = masked_overrides({"data.masking.rule=bernoulli", "train.batch_start=2", "train.batch_ramp=0.6",
                                           "train.lr=0.01", "model.sas_p.beta_ff.init=0.05"});
  run(unbroken, overrides);
  fs::copy(unbroken, stopped, fs::copy_options::recursive);
  go_back(stopped, 10);
  CHECK_FALSE(run(stopped, overrides).was_done);
  require_same_run(unbroken, stopped, 20);
  const auto lines = metrics_of(unbroken, "train");
  CHECK(lines.front().at("loss").get<double>() == Approx(std::log(4097)).margin(0.5));
  CHECK(lines.back().at("loss").get<double>() < lines.front().at("loss").get<double>() - 0.5);
  const auto evaluations = metrics_of(unbroken, "eval");
  REQUIRE(evaluations.size() == 2);
  CHECK(evaluations[1].at("masked_perplexity").get<double>() ==
        Approx(std::exp(evaluations[1].at("loss").get<double>())));
  CHECK_FALSE(evaluations[1].contains("perplexity"));
  CHECK(metrics_of(unbroken, "train").back().at("tokens").get<int64_t>() % 16 == 0);
}

TEST_CASE("an evaluation is masked the same way each time, whatever the batch size and the run's seeds",
          "[masked_run]") {
  const auto evaluate = [](const std::vector<std::string>& more) {
    const RunConfig config = masked_config(more);
    const PreparedData data = open_data(config);
    const auto masker = evaluation_masker(config, *data.tokenizer);
    const auto model = [] {
      at::manual_seed(7);
      return make_model(masked_config().model);
    }();
    return evaluate_loss(*model, *evaluation_batches(config, data), at::kCPU, &*masker);
  };
  const LossResult once = evaluate({}), again = evaluate({});
  CHECK(once.tokens == 512 / 16 * 4);
  CHECK(once.sum == again.sum);
  const LossResult other = evaluate({"train.micro_batch=8", "train.data_seed=5", "train.seed=9"});
  CHECK(other.tokens == once.tokens);
  CHECK(other.sum == Approx(once.sum).epsilon(kSummationOrder));
  CHECK(evaluate({"data.masking.rate=0.5"}).tokens == 2 * once.tokens);
}

TEST_CASE("micro-batches of a masked batch give the step of the whole batch", "[masked_run][accumulation]") {
  const Rows rows(masked_config({"data.masking.rule=bernoulli"}));
  const Batch batch = rows.rows.batch(0, 8);
  const auto step = [&](const std::string& micro_batch) {
    Learner learner(masked_config({"train.micro_batch=" + micro_batch}), at::kCPU);
    const auto result = learner.step(0, 1e-3, batch);
    return std::pair(result.loss.sum.item<double>(), result.gradient_norm.item<double>());
  };
  const auto whole = step("8");
  for (const char* micro_batch : {"3", "1"}) {
    const auto parts = step(micro_batch);
    CHECK(parts.first == Approx(whole.first).epsilon(kSummationOrder));
    CHECK(parts.second == Approx(whole.second).epsilon(kSummationOrder));
  }
}

TEST_CASE("batches in which nothing is masked count no token, change nothing and are never NaN", "[masked_run]") {
  const test::TemporaryFolder temporary;
  const std::string precision = GENERATE("fp32", "fp16");
  const auto overrides = masked_overrides({"data.masking.rule=bernoulli", "data.masking.rate=1e-12", "train.steps=4",
                                           "train.warmup_steps=0", "train.save_every=2", "train.log_every=1",
                                           "train.precision=" + precision});
  const auto outcome = run(temporary.path(), overrides);
  CHECK(outcome.step == 4);
  CHECK_FALSE(outcome.validation_loss.has_value());
  const auto early = checkpoints_of(temporary.path()).read_model(2).tensors;
  const auto late = checkpoints_of(temporary.path()).read_model(4).tensors;
  for (const auto& [name, tensor] : early) {
    CHECK(tensor.isfinite().all().item<bool>());
    CHECK(at::equal(tensor, late.at(name)));
  }
  CHECK(metrics_of(temporary.path(), "eval").empty());
  for (const auto& line : metrics_of(temporary.path(), "train")) {
    CHECK(line.at("loss").is_null());
    CHECK(line.at("grad_norm") == 0);
  }
}

TEST_CASE("what is not finite in a masked step is found again, and named", "[masked_run]") {
  const RunConfig config = masked_config();
  const Rows rows(config);
  const Batch batch = rows.rows.batch(0, 8);
  Learner learner(config, at::kCPU);
  CHECK(learner.first_non_finite(batch) == "");
  const torch::NoGradGuard no_grad;
  learner.model().named_parameters()["block_1.feed_forward.w_2"].fill_(3e38);
  CHECK(learner.first_non_finite(batch) == "the output of block_1 or final_norm");
}

TEST_CASE("masking is refused by key where nothing is masked, and data without a mask token by name",
          "[masked_run][config]") {
  const auto problem = [](const std::vector<std::string>& overrides) {
    try {
      test::small_run_config(overrides);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* setting :
       {"data.masking.rate=0.15", "data.masking.rule=bernoulli", "data.masking.exclude_special=true"}) {
    CHECK_THAT(problem({setting}), Catch::Contains(std::string(setting).substr(0, std::string(setting).find('='))) &&
                                       Catch::Contains("model.kind is gpt"));
    CHECK(problem(masked_overrides({setting})) == "");
  }
  CHECK_THAT(problem(masked_overrides({"data.masking.rate=0.03"})), Catch::Contains("data.masking.rate"));
  CHECK(problem(masked_overrides({"data.masking.rate=0.032"})) == "");
  CHECK_THAT(problem(masked_overrides({"data.masking.rate=0"})), Catch::Contains("data.masking.rate"));
  // A causal run's own config says nothing of masks; a masked one's does.
  CHECK(write_config(test::small_run_config()).find("masking") == std::string::npos);
  CHECK(write_config(masked_config()).find("masking") != std::string::npos);

  const test::TemporaryFolder temporary;
  CHECK_THAT(error_of(temporary.path() / "run", {"model.kind=bert"}), Catch::Contains("[MASK]"));
  CHECK_FALSE(fs::exists(temporary.path() / "run"));
}

TEST_CASE("the recipes for BERT bring the rate and the gain of every block, and the paper's size",
          "[masked_run][config]") {
  struct Expected {
    const char *block, *norm;
    double crammed_lr, micro_lr;
    int64_t parameters;  // 119.6 M and 101.3 M; SAS-P has a norm less in each block
  };
  const auto expected = {
      Expected{"pre_ln", "layer_norm", 1e-3, 3e-3, 119'589'889}, Expected{"sas", "layer_norm", 3e-3, 3e-3, 101'305'971},
      Expected{"sas_p", "layer_norm", 3e-3, 3e-3, 101'281'379}, Expected{"sas_p", "none", 2e-3, 2e-3, 101'258'339}};
  const auto recipe = [](const std::string& name, const Expected& of) {
    return read_config_file<RunConfig>(
        fs::path(SKIPLESS_SOURCE_DIR) / "configs" / name,
        {fmt::format("model.block={}", of.block), fmt::format("model.norm={}", of.norm)});
  };
  for (const auto& of : expected) {
    INFO(of.block << ", " << of.norm);
    const RunConfig crammed = recipe("bert_crammed.yaml", of), micro = recipe("bert_micro.yaml", of);
    CHECK(*crammed.train.schedule.lr == of.crammed_lr);
    CHECK(*micro.train.schedule.lr == of.micro_lr);
    CHECK(n_parameters(crammed.model) == of.parameters);
    for (const RunConfig& config : {crammed, micro}) {
      CHECK(config.is_masked());
      CHECK(config.train.hours.has_value());
      CHECK(config.train.schedule.schedule == ScheduleKind::triangle);
    }
    const std::string written = write_config(crammed);
    const bool has_gain = std::string(of.block) != "pre_ln";
    CHECK((written.find("beta_ff:\n      init: 0.05\n      trainable: true") != std::string::npos) == has_gain);
  }
}

TEST_CASE("statistics of the layers of a masked run are there, and change nothing of it", "[masked_run][statistics]") {
  const test::TemporaryFolder temporary;
  const auto small = masked_overrides({"train.steps=3", "train.warmup_steps=0"});
  auto watched = small;
  watched.push_back("train.stats_every=1");
  run(temporary.path() / "plain", small);
  run(temporary.path() / "watched", watched);
  test::require_same_metrics(temporary.path() / "plain", temporary.path() / "watched");
  const auto lines = metrics_of(temporary.path() / "watched", "layers");
  REQUIRE(lines.size() == 3);
  // Queries are 0 at the start, so that the first step's gains of attention are those of a uniform A: entropy ln 16.
  CHECK(lines[0].at("entropy").at("block_1")[0].get<double>() == Approx(std::log(16)).epsilon(1e-3));
}

}  // namespace skipless
