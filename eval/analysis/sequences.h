// The sequences that an analysis looks at.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "data/document_reader.h"
#include "data/input_files.h"
#include "data/tokenizer.h"

namespace skipless {

using VisitSkippedOf = std::function<void(const InputFile&, const SkippedDocument&)>;

/// [n, length] int64: the first n chunks of `length` tokens of the documents in their order. As in training, a chunk
/// never spans two documents and a document's tail is dropped; no special token is inserted. `field`: of .jsonl files.
/// UserError where the documents hold fewer chunks, and where one of them cannot be tokenized.
at::Tensor text_sequences(const InputFiles& inputs, const std::string& field, const Tokenizer& tokenizer, int64_t n,
                          int64_t length, const VisitSkippedOf& skip);

/// [n, length] int64, uniform over the ids below `vocab_size`. LibTorch's default generator is left as it is.
at::Tensor random_sequences(int64_t vocab_size, int64_t n, int64_t length, uint64_t seed);

}  // namespace skipless
