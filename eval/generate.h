// Text after a prompt, token by token, with a cache of keys and values.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/tokenizer.h"
#include "eval/sampler.h"
#include "models/gpt.h"

namespace skipless {

struct GenerationConfig {
  SamplingConfig sampling{};
  std::optional<int64_t> max_tokens{};  // of the generated ones; default_max_tokens()
  uint64_t seed = 0;
};

enum class GenerationEnd { max_tokens, end_of_text, asked };

/// 256, or fewer where the positions of the model end before; where the prompt leaves room for it, not beyond
/// context_length, behind which no position was trained.
int64_t default_max_tokens(const ModelConfig& model, int64_t prompt_tokens);

/// Which ids may be generated: those below `vocab_size` (of the model) that the tokenizer has, without its special
/// tokens but for the one that ends a text.
std::vector<bool> allowed_tokens(const Tokenizer& tokenizer, int64_t vocab_size);

/// Calls `token` with each new id, until it returns false, until `max_tokens`, or until `end_of_text` (not handed on)
/// is drawn. The model lies on `device`, in evaluation mode. Prompt and generated tokens together are at most
/// n_positions: UserError, before anything is computed, for a prompt that leaves no room and a max_tokens that does not
/// fit; also for an empty prompt. RunError for logits that are not finite.
GenerationEnd generate(Gpt& model, at::Device device, std::span<const int32_t> prompt, const GenerationConfig& config,
                       const std::vector<bool>& allowed, std::optional<int32_t> end_of_text,
                       const std::function<bool(int32_t)>& token);

}  // namespace skipless
