// A cache of keys, values and their running mean gives the logits of the whole sequence at once.
#include <torch/nn/module.h>
#include <torch/utils.h>

#include "models/block_variants.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

/// Both are float64 and differ in the order of their sums alone.
constexpr double kTolerance = 1e-12;

/// The largest difference between the logits [B, T, V] of the whole and those of its parts, one after another.
double difference(Gpt& gpt, const torch::Tensor& ids, const std::vector<int64_t>& parts) {
  const torch::NoGradGuard no_grad;
  GptCache cache(gpt->config(), ids.size(1));
  std::vector<torch::Tensor> logits;
  for (const int64_t part : parts) {
    const auto piece = ids.slice(1, cache.length(), cache.length() + part);
    logits.push_back(gpt->logits(gpt->extend(piece, cache)));
  }
  REQUIRE(cache.length() == ids.size(1));
  return (torch::cat(logits, 1) - gpt->forward(ids)).abs().max().item<double>();
}

/// Prompt and then single tokens; a prompt in chunks; one by one; all at once.
double largest_difference(const ModelConfig& config) {
  auto gpt = random_gpt(config);
  gpt->begin_step(4);  // of an identity start
  gpt->eval();
  const auto ids = random_ids(config, 2);
  double largest = 0;
  for (const std::vector<int64_t>& parts :
       {std::vector<int64_t>{3, 1, 1, 1, 1}, {2, 3, 2}, {1, 1, 1, 1, 1, 1, 1}, {7}, {1, 5, 1}}) {
    largest = std::max(largest, difference(gpt, ids, parts));
  }
  return largest;
}

}  // namespace

TEST_CASE("Cached logits equal those of the whole sequence in every block and norm", "[cache][blocks]") {
  for (const auto& variant : block_variants()) {
    for (const NormKind norm : {NormKind::rms_norm, NormKind::layer_norm, NormKind::none}) {
      INFO("block " << variant.name << ", norm " << name_of(norm));
      CHECK(largest_difference(resolved(small_config(std::string(variant.name), norm))) < kTolerance);
    }
  }
}

TEST_CASE("Cached logits equal those of the whole sequence under every setting that the cache could miss",
          "[cache][blocks]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    auto config = small_config(std::string(variant.name));
    config.soft_cap = 3;
    CHECK(largest_difference(resolved(config)) < kTolerance);
    config.qk_norm = true;
    CHECK(largest_difference(resolved(config)) < kTolerance);
    config.identity_start = {.schedule = IdentitySchedule::linear, .steps = 10};
    config.dropout = {.embedding = 0.1, .attention = 0.1, .branch = 0.1};
    CHECK(largest_difference(resolved(config)) < kTolerance);
    config.soft_cap = 0;
    config.positions = PositionKind::sinusoidal;
    config.n_positions = 19;
    config.vocab_multiple = 8;
    CHECK(largest_difference(resolved(config)) < kTolerance);
  }
}

TEST_CASE("A cache that lacked the running mean, the positions or a mask would be seen", "[cache]") {
  const auto config = resolved(small_config("sas"));
  auto gpt = random_gpt(config);
  const torch::NoGradGuard no_grad;
  const auto ids = random_ids(config, 2);
  // The last four tokens as if they were a sequence of their own: no history, positions from 0.
  const auto whole = gpt->forward(ids).slice(1, 3), alone = gpt->forward(ids.slice(1, 3));
  CHECK((whole - alone).abs().amax({0, 2}).min().item<double>() > 1e-3);
}

TEST_CASE("A cache is full at its capacity, and a sequence ends at the model's positions", "[cache]") {
  auto config = small_config("sas_p");
  config.n_positions = 9;
  auto gpt = random_gpt(resolved(config));
  const auto ids = torch::zeros({1, 4}, torch::kInt64);
  using Catch::Matchers::Contains;
  GptCache small(gpt->config(), 6);
  gpt->extend(ids, small);
  CHECK_THROWS_WITH(gpt->extend(ids, small), Contains("cache for 6 tokens holds 4"));
  GptCache large(gpt->config(), 100);
  gpt->extend(ids, large);
  gpt->extend(ids, large);
  CHECK_THROWS_WITH(gpt->extend(ids, large), Contains("12 tokens, but there are 9 positions"));
}
