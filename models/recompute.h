// Activation recomputation: a block keeps its input alone, and runs its forward pass again for its backward.
#pragma once

#include "models/block.h"

namespace skipless {

/// block->forward(x, mask), with the same values and gradients, bit for bit. Between forward and backward only x is
/// kept; in return the forward pass runs twice. The second pass sees the generators' states and the autocast settings
/// of the first, and leaves those it found.
torch::Tensor recomputed(const Block& block, const torch::Tensor& x, const AttentionMask& mask);

}  // namespace skipless
