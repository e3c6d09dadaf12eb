// The matrix products that a training step of a model cannot do without: its linear layers and its vocabulary.
#pragma once

#include <cstdint>
#include <vector>

#include "models/transformer.h"

namespace skipless {

/// y [rows, out] = x [rows, in] W^T, and on the way back dx = dy W and dW = dy^T x.
struct LinearShape {
  int64_t rows = 0;
  int64_t in = 0;
  int64_t out = 0;

  /// Of the three products.
  double flops() const { return 6.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out); }
};

/// Of one micro-batch: one shape for each matrix of the blocks, which every token passes, and of the head, which the
/// predicted ones pass. Read off the model's parameters, so that a block needs no word of its own.
std::vector<LinearShape> linear_shapes(const TransformerImpl& model, const Batch& batch);

}  // namespace skipless
