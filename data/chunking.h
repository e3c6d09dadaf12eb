// How a shard is cut into chunks of T tokens, the rows of a batch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "configs/schema.h"
#include "data/tokenizer.h"

namespace skipless {

/// documents: whole chunks of one document, as the paper cuts them; a document's tail is dropped, documents are never
///   joined, no end-of-text token is inserted.
/// packed: the documents in the order of the shard, each followed by one end-of-text token, are one stream; chunk k is
///   its tokens [k*T, (k+1)*T). Chunks do not overlap, and only the stream's last, incomplete chunk is dropped. A loss
///   within the chunk predicts T - 1 of its tokens, so that a chunk's first token is predicted by nothing.
enum class ChunkKind { documents, packed };
std::span<const EnumName<ChunkKind>> enum_names(ChunkKind);

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
