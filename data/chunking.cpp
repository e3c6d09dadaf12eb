#include "data/chunking.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "configs/error.h"

namespace skipless {
namespace {

constexpr std::array<std::string_view, 6> kEndOfText = {"<|endoftext|>", "<|end_of_text|>", "</s>",
                                                        "<eos>",         "[EOS]",           "[SEP]"};

}  // namespace

std::optional<std::int32_t> end_of_text_id(const Tokenizer& tokenizer) {
  for (const std::string_view name : kEndOfText) {
    if (const auto id = tokenizer.special_token_id(name)) return id;
  }
  return std::nullopt;
}

Chunking chunking_with(ChunkKind kind, const Tokenizer& tokenizer) {
  if (kind == ChunkKind::documents) return {};
  if (const auto id = end_of_text_id(tokenizer)) return {.kind = kind, .end_of_text = *id};
  throw UserError(
      fmt::format("data.chunking is packed, which puts an end-of-text token between documents, but the tokenizer {} "
                  "has no special token {}; use data.chunking documents, or prepare with another tokenizer",
                  tokenizer.hash(), fmt::join(kEndOfText, ", ")));
}

}  // namespace skipless
