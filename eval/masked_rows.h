// Rows of a masked language model, on their way from the data to the loss. A row is [2T]: the T tokens that the model
// sees, then the T labels (kNoLabel where nothing is predicted).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "data/masking.h"
#include "models/batch.h"

namespace skipless {

/// Fills `row` whose first half holds a chunk's tokens: masks them, and writes the labels behind them. `item` is the
/// chunk's number in its stream (TokenMasker).
void mask_row(const TokenMasker& masker, int64_t item, std::span<int64_t> row);

/// `rows` [B, 2T], on the CPU -> ids [B, T], and positions and labels [B, M] of what is predicted, M the most of any
/// row. In pinned memory if the rows are. All of it is known to the CPU, so that no device has to be waited for.
Batch masked_batch(const at::Tensor& rows);

}  // namespace skipless
