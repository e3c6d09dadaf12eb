// How a shard is cut into chunks of T tokens, the rows of a batch.
#pragma once

#include <cstdint>
#include <optional>

#include "data/chunk_kind.h"
#include "data/tokenizer.h"

namespace skipless {

struct Chunking {
  ChunkKind kind = ChunkKind::documents;
  std::int32_t end_of_text = -1;  // packed: the id between documents
};

/// The special token that ends a text: <|endoftext|>, or the first of <|end_of_text|>, </s>, <eos>, [EOS], [SEP]
/// that the tokenizer has.
std::optional<std::int32_t> end_of_text_id(const Tokenizer& tokenizer);

/// With the tokenizer's end-of-text token. UserError when packed chunks are asked for and it has none.
Chunking chunking_with(ChunkKind kind, const Tokenizer& tokenizer);

}  // namespace skipless
