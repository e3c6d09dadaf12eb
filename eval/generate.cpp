#include "eval/generate.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "configs/error.h"
#include "data/chunking.h"

namespace skipless {

namespace {

int64_t require_room(const ModelConfig& model, int64_t prompt, const std::optional<int64_t>& max_tokens) {
  const int64_t positions = *model.n_positions;
  if (prompt == 0) throw UserError("the prompt is empty: there is nothing to go on from");
  if (prompt >= positions) {
    throw UserError(
        fmt::format("the prompt has {} tokens, but the model has {} positions (model.n_positions): it must "
                    "leave at least one for the answer",
                    prompt, positions));
  }
  if (!max_tokens) return default_max_tokens(model, prompt);
  if (*max_tokens < 1) throw UserError(fmt::format("--max-tokens is {}; allowed: 1 and above", *max_tokens));
  if (*max_tokens > positions - prompt) {
    throw UserError(
        fmt::format("--max-tokens is {}, but after {} tokens of the prompt {} of the model's {} positions "
                    "(model.n_positions) are left",
                    *max_tokens, prompt, positions - prompt, positions));
  }
  return *max_tokens;
}

/// Logits of the token after `ids`.
std::vector<double> next_logits(Gpt& model, at::Device device, std::span<const int32_t> ids, GptCache& cache) {
  auto input = at::empty({1, static_cast<int64_t>(ids.size())}, at::kLong);
  std::copy(ids.begin(), ids.end(), input.data_ptr<int64_t>());
  const at::NoGradGuard no_grad;
  const auto hidden = model->extend(input.to(device), cache);
  const auto logits = model->logits(hidden.slice(1, -1)).flatten().to(at::kCPU, at::kDouble).contiguous();
  const auto* data = logits.data_ptr<double>();
  return {data, data + logits.numel()};
}

}  // namespace

int64_t default_max_tokens(const ModelConfig& model, int64_t prompt_tokens) {
  constexpr int64_t kMost = 256;
  const int64_t trained = model.context_length - prompt_tokens, all = *model.n_positions - prompt_tokens;
  return std::min(kMost, trained > 0 ? trained : all);
}

std::vector<bool> allowed_tokens(const Tokenizer& tokenizer, int64_t vocab_size) {
  const auto end_of_text = end_of_text_id(tokenizer);
  std::vector<bool> allowed(static_cast<size_t>(vocab_size), false);
  for (int64_t id = 0; id < std::min(vocab_size, tokenizer.vocab_size()); ++id) {
    const auto token = static_cast<int32_t>(id);
    allowed[static_cast<size_t>(id)] =
        tokenizer.has_id(token) && (!tokenizer.is_special(token) || token == end_of_text);
  }
  return allowed;
}

GenerationEnd generate(Gpt& model, at::Device device, std::span<const int32_t> prompt, const GenerationConfig& config,
                       const std::vector<bool>& allowed, std::optional<int32_t> end_of_text,
                       const std::function<bool(int32_t)>& token) {
  check_sampling(config.sampling);
  const auto prompt_tokens = static_cast<int64_t>(prompt.size());
  const int64_t max_tokens = require_room(model->config(), prompt_tokens, config.max_tokens);
  std::mt19937_64 generator(config.seed);
  // The last token's own keys and values are never asked for.
  GptCache cache(model->config(), prompt_tokens + max_tokens - 1);
  auto logits = next_logits(model, device, prompt, cache);
  for (int64_t i = 1;; ++i) {
    const auto id = static_cast<int32_t>(sample_token(logits, allowed, config.sampling, generator));
    if (id == end_of_text) return GenerationEnd::end_of_text;
    if (!token(id)) return GenerationEnd::asked;
    if (i == max_tokens) return GenerationEnd::max_tokens;
    logits = next_logits(model, device, {&id, 1}, cache);
  }
}

}  // namespace skipless
