// The loss on texts: windows against the plain rule, and against the evaluation of prepared chunks.
#include "eval/text_loss.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "data/token_shard_writer.h"
#include "tests/eval/small_gpt.h"
#include "tests/temporary_folder.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

using Ids = std::vector<int32_t>;

constexpr int64_t kLength = 8;
/// float64 sums of some hundred terms of order 5, in another order.
constexpr double kTolerance = 1e-12;

Ids some_ids(int32_t count, int32_t salt) {
  Ids ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((i * i * 7 + salt * 31 + i) % 262);
  return ids;
}

double surprise(Gpt& model, const Ids& ids, size_t begin, size_t target) {
  const Ids seen(ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.begin() + static_cast<std::ptrdiff_t>(target));
  const auto logits = model->forward(at::tensor(seen, at::kLong).unsqueeze(0))[0][-1];
  return -logits.log_softmax(-1)[ids[target]].item<double>();
}

/// Each token but the first, from the window that is the first to hold it.
LossResult plain(Gpt& model, const std::vector<Ids>& documents, int64_t stride) {
  const torch::NoGradGuard no_grad;
  LossResult result;
  for (const auto& ids : documents) {
    for (size_t target = 1; target < ids.size(); ++target) {
      size_t begin = 0;
      while (target >= begin + static_cast<size_t>(kLength)) begin += static_cast<size_t>(stride);
      result.sum += surprise(model, ids, begin, target);
      ++result.tokens;
    }
  }
  return result;
}

LossResult windowed(Gpt& model, const std::vector<Ids>& documents, int64_t stride, int64_t batch_size, size_t piece) {
  TextLoss loss(model, at::kCPU, {.length = kLength, .stride = stride, .batch_size = batch_size});
  for (const auto& ids : documents) {
    const std::span<const int32_t> all(ids);
    for (size_t at = 0; at < ids.size(); at += piece) loss.append(all.subspan(at, std::min(piece, ids.size() - at)));
    loss.end_document();
  }
  return loss.result();
}

}  // namespace

TEST_CASE("every token but a document's first is predicted once, from the first window that holds it", "[text-loss]") {
  Gpt model = test::byte_gpt(kLength, kLength);
  std::vector<Ids> documents;
  for (const int32_t size : {1, 2, 7, 8, 9, 15, 16, 17, 40, 0}) documents.push_back(some_ids(size, size));
  for (const int64_t stride : {1, 3, 7}) {
    const LossResult expected = plain(model, documents, stride);
    CHECK(expected.tokens == 1 + 6 + 7 + 8 + 14 + 15 + 16 + 39);
    for (const int64_t batch_size : {1, 3, 100}) {
      for (const size_t piece : {1, 5, 1000}) {
        INFO("stride " << stride << ", batch " << batch_size << ", pieces of " << piece);
        const LossResult result = windowed(model, documents, stride, batch_size, piece);
        CHECK(result.tokens == expected.tokens);
        CHECK(result.sum == Approx(expected.sum).epsilon(kTolerance));
      }
    }
  }
}

TEST_CASE("documents of one chunk each have the loss of the prepared shard, bit for bit", "[text-loss]") {
  const test::TemporaryFolder folder;
  Gpt model = test::byte_gpt(kLength, kLength);
  std::vector<Ids> documents;
  TokenShardWriter writer(folder.path() / "shard.bin", 262, std::string(32, '0'));
  for (int32_t i = 0; i < 10; ++i) {
    documents.push_back(some_ids(kLength, i));
    writer.append(documents.back());
    writer.end_document();
  }
  writer.commit();
  const EvaluationBatches batches(TokenShard::open(folder.path() / "shard.bin"), kLength, 4, 10 * kLength);
  const LossResult expected = evaluate_loss(*model, batches, at::kCPU);
  const LossResult result = windowed(model, documents, kLength - 1, 4, 1000);
  CHECK(result.tokens == expected.tokens);
  CHECK(result.sum == expected.sum);
}

TEST_CASE("texts in which nothing is predicted have no tokens", "[text-loss]") {
  Gpt model = test::byte_gpt(kLength, kLength);
  CHECK(windowed(model, {}, 7, 4, 10).tokens == 0);
  CHECK(windowed(model, {{5}, {}, {6}}, 7, 4, 10).tokens == 0);
}

}  // namespace skipless
