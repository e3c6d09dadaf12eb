#include "eval/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <torch/utils.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "data/token_shard_writer.h"
#include "models/gpt.h"
#include "tests/temporary_folder.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

constexpr int64_t kVocabulary = 256;
constexpr int64_t kChunk = 8;

/// 10 chunks of ids that differ, and a tail of 3 tokens.
TokenShard ten_chunks(const std::filesystem::path& folder) {
  const auto file = folder / "shard.bin";
  TokenShardWriter writer(file, kVocabulary, std::string(32, '0'));
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 10 * kChunk + 3; ++i) ids.push_back(i * i * 7 % kVocabulary);
  writer.append(ids);
  writer.end_document();
  writer.commit();
  return TokenShard::open(file);
}

Gpt small_gpt() {
  ModelConfig config;
  config.n_layer = 1;
  config.d_model = 8;
  config.n_head = 2;
  config.vocab_size = kVocabulary;
  config.context_length = kChunk;
  config.resolve();
  torch::manual_seed(3);
  Gpt gpt(config);
  gpt->to(at::kDouble);
  return gpt;
}

}  // namespace

TEST_CASE("a model that prefers no token has the loss ln(vocabulary) and the perplexity of its size", "[loss]") {
  const test::TemporaryFolder folder;
  Gpt gpt = small_gpt();
  for (auto& parameter : gpt->parameters()) parameter.data().zero_();
  const auto result = evaluate_loss(*gpt, EvaluationBatches(ten_chunks(folder.path()), kChunk, 4, 1000), at::kCPU);
  CHECK(result.loss() == Approx(5.545177444479562).epsilon(1e-14));
  CHECK(result.perplexity() == Approx(256).epsilon(1e-13));
  CHECK(result.tokens == 10 * (kChunk - 1));
}

TEST_CASE("every token weighs the same whatever the batch size, the last batch included", "[loss]") {
  const test::TemporaryFolder folder;
  const TokenShard shard = ten_chunks(folder.path());
  Gpt gpt = small_gpt();
  // Sharp predictions, so that chunks differ and a mean of batch means would show.
  for (auto& parameter : gpt->parameters()) parameter.data().mul_(30);
  double sum = 0;
  std::vector<double> chunk_losses;
  for (int64_t chunk = 0; chunk < 10; ++chunk) {
    std::vector<int64_t> ids(kChunk);
    shard.copy(chunk * kChunk, ids);
    const auto row = at::full({1, kChunk}, 0, at::kLong);
    std::copy(ids.begin(), ids.end(), row.data_ptr<int64_t>());
    chunk_losses.push_back(gpt->loss({.ids = row}).sum.item<double>());
    sum += chunk_losses.back();
  }
  CHECK(std::abs(chunk_losses[8] + chunk_losses[9] - sum / 5) > 1e-3);
  for (const int64_t batch_size : {1, 3, 4, 10, 64}) {
    const auto result = evaluate_loss(*gpt, EvaluationBatches(shard, kChunk, batch_size, 1000), at::kCPU);
    CHECK(result.sum == Approx(sum).epsilon(1e-13));
    CHECK(result.tokens == 10 * (kChunk - 1));
  }
  const auto some = evaluate_loss(*gpt, EvaluationBatches(shard, kChunk, 4, 2 * kChunk + 1), at::kCPU);
  CHECK(some.tokens == 2 * (kChunk - 1));
  CHECK(some.sum == Approx(chunk_losses[0] + chunk_losses[5]).epsilon(1e-13));
}

TEST_CASE("evaluation leaves the model in training mode, and without gradients", "[loss]") {
  const test::TemporaryFolder folder;
  Gpt gpt = small_gpt();
  gpt->train();
  evaluate_loss(*gpt, EvaluationBatches(ten_chunks(folder.path()), kChunk, 4, 1000), at::kCPU);
  CHECK(gpt->is_training());
  for (const auto& parameter : gpt->parameters()) CHECK_FALSE(parameter.grad().defined());
}

}  // namespace skipless
