// How documents become the rows of a batch.
#pragma once

#include <span>

#include "configs/schema.h"

namespace skipless {

/// documents: whole chunks of one document, as the paper cuts them; a document's tail is dropped, documents are never
///   joined, no end-of-text token is inserted.
/// packed: the documents in the order of the shard, each followed by one end-of-text token, are one stream; chunk k is
///   its tokens [k*T, (k+1)*T). Chunks do not overlap, and only the stream's last, incomplete chunk is dropped. A loss
///   within the chunk predicts T - 1 of its tokens, so that a chunk's first token is predicted by nothing.
enum class ChunkKind { documents, packed };
std::span<const EnumName<ChunkKind>> enum_names(ChunkKind);

}  // namespace skipless
