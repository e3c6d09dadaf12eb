// Generation against the plain rule: at each step the whole sequence through the model, the last logits, one draw.
#include "eval/generate.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <limits>
#include <string>

#include "configs/error.h"
#include "data/chunking.h"
#include "tests/data/small_tokenizer.h"
#include "tests/eval/small_gpt.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

using Catch::Contains;
using Ids = std::vector<int32_t>;

constexpr int64_t kContext = 10, kPositions = 14;

struct Outcome {
  Ids ids;
  GenerationEnd end;
};

Outcome run(Gpt& model, const Ids& prompt, const GenerationConfig& config, const std::vector<bool>& allowed,
            std::optional<int32_t> end_of_text = {}) {
  Outcome outcome;
  outcome.end = generate(model, at::kCPU, prompt, config, allowed, end_of_text, [&](int32_t id) {
    outcome.ids.push_back(id);
    return true;
  });
  return outcome;
}

/// Without a cache.
Ids plain_generation(Gpt& model, Ids sequence, const GenerationConfig& config, const std::vector<bool>& allowed) {
  const torch::NoGradGuard no_grad;
  std::mt19937_64 generator(config.seed);
  Ids result;
  for (int64_t i = 0; i < *config.max_tokens; ++i) {
    const auto ids = at::tensor(sequence, at::kLong).unsqueeze(0);
    const auto logits = model->forward(ids)[0][-1].contiguous();
    const std::span<const double> row(logits.data_ptr<double>(), static_cast<size_t>(logits.numel()));
    result.push_back(static_cast<int32_t>(sample_token(row, allowed, config.sampling, generator)));
    sequence.push_back(result.back());
  }
  return result;
}

}  // namespace

TEST_CASE("generation with the cache draws what the whole sequence would, for every block", "[generate]") {
  const auto allowed = allowed_tokens(test::small_tokenizer(), 262);
  for (const char* block : {"pre_ln", "post_ln", "parallel", "v_skipinit", "sas", "sas_p"}) {
    INFO(block);
    Gpt model = test::byte_gpt(kContext, kPositions, block);
    for (const double temperature : {0.0, 1.0}) {
      const GenerationConfig config{.sampling = {.temperature = temperature}, .max_tokens = 11, .seed = 5};
      const auto outcome = run(model, {65, 66, 67}, config, allowed);
      CHECK(outcome.ids == plain_generation(model, {65, 66, 67}, config, allowed));
      CHECK(outcome.end == GenerationEnd::max_tokens);
    }
  }
}

TEST_CASE("the same seed gives the same tokens", "[generate]") {
  Gpt model = test::byte_gpt(kContext, kPositions);
  const auto allowed = allowed_tokens(test::small_tokenizer(), 262);
  const auto ids = [&](uint64_t seed) { return run(model, {65}, {.max_tokens = 12, .seed = seed}, allowed).ids; };
  CHECK(ids(3) == ids(3));
  CHECK(ids(3) != ids(4));
}

TEST_CASE("a generation never leaves the positions of the model", "[generate]") {
  Gpt model = test::byte_gpt(kContext, kPositions);
  const auto allowed = allowed_tokens(test::small_tokenizer(), 262);
  const auto tokens = [&](size_t prompt, std::optional<int64_t> most) {
    return run(model, Ids(prompt, 65), {.max_tokens = most}, allowed).ids.size();
  };
  CHECK(tokens(4, 10) == 10);  // all positions
  CHECK(tokens(13, 1) == 1);
  CHECK(tokens(4, {}) == 6);   // the trained ones
  CHECK(tokens(10, {}) == 4);  // all, where the prompt has taken the trained ones
  CHECK(tokens(13, {}) == 1);
  CHECK_THROWS_WITH(tokens(4, 11), Contains("max-tokens is 11") && Contains("10 of the model's 14 positions"));
  CHECK_THROWS_WITH(tokens(4, std::numeric_limits<int64_t>::max()), Contains("10 of the model's 14"));
  CHECK_THROWS_WITH(tokens(14, {}), Contains("the prompt has 14 tokens") && Contains("14 positions"));
  CHECK_THROWS_WITH(tokens(500, 1), Contains("the prompt has 500 tokens"));
  CHECK_THROWS_AS(tokens(0, 1), UserError);
  CHECK_THROWS_AS(tokens(3, 0), UserError);
  CHECK_THROWS_AS(run(model, {65}, {.sampling = {.top_k = -1}}, allowed), UserError);
}

TEST_CASE("ids without a token and special tokens are never generated, but for the end of the text", "[generate]") {
  auto content = test::small_content();
  content.vocab.emplace_back("<pad>", 265);  // special: no merge makes it; 262 to 264 are no tokens
  const BpeTokenizer tokenizer(content);
  const auto allowed = allowed_tokens(tokenizer, 300);
  REQUIRE(allowed.size() == 300);
  for (const size_t id : {0, 65, 255, 257, 261}) CHECK(allowed[id]);
  CHECK(allowed[256]);
  CHECK(end_of_text_id(tokenizer) == 256);
  for (size_t id = 262; id < 300; ++id) CHECK_FALSE(allowed[id]);
  CHECK(allowed_tokens(tokenizer, 10).size() == 10);

  // A model whose best tokens are those that do not exist.
  Gpt model = test::byte_gpt(kContext, 200, "sas", 300);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : model->named_parameters()) {
    if (parameter.key() == "final_norm.weight") parameter.value().zero_();
    if (parameter.key() == "final_norm.bias") parameter.value().fill_(1);
    if (parameter.key() == "embedding.tokens") parameter.value().slice(0, 262).fill_(1);
  }
  for (const int32_t id : run(model, {65}, {.max_tokens = 100}, allowed).ids) CHECK(id < 262);
}

TEST_CASE("the end of the text ends the generation, and is not handed on", "[generate]") {
  Gpt model = test::byte_gpt(kContext, 100);
  std::vector<bool> allowed(262, false);
  allowed[256] = allowed[65] = true;
  const auto outcome = run(model, {65}, {.max_tokens = 90, .seed = 1}, allowed, 256);
  CHECK(outcome.end == GenerationEnd::end_of_text);
  CHECK(outcome.ids.size() < 90);
  for (const int32_t id : outcome.ids) CHECK(id == 65);
}

TEST_CASE("a model whose logits are not finite fails instead of generating", "[generate]") {
  Gpt model = test::byte_gpt(kContext, kPositions);
  model->parameters().back().data().fill_(std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS(run(model, {65}, {.max_tokens = 2}, std::vector<bool>(262, true)), RunError);
}

}  // namespace skipless
