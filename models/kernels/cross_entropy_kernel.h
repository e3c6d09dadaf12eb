// Cross-entropy of rows of logits on a CPU, and its gradient in their place.
//
//   p_j = exp(l_j - max) / sum_k exp(l_k - max)     loss = max + log sum_k exp(l_k - max) - l_target
//   dl_j = p_j - [j = target]
#pragma once

#include <cstdint>

#include "models/kernels/rows.h"

namespace skipless::kernels {

/// Logits [rows, columns], of which those from `vocab_size` on have no token: their p is 0.
struct LogitShape {
  int64_t vocab_size;
  int64_t columns;
  bool wants_gradient;
};

/// All arithmetic is float32. Rows `first` to `last` - 1: returns the sum of their losses, and writes dl over the
/// logits where a gradient is wanted. A row whose target is negative does not count: its loss and gradient are 0.
double cross_entropy(const LogitShape& shape, int64_t first, int64_t last, const Rows& logits, const int64_t* targets);

}  // namespace skipless::kernels
