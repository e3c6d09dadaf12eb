#include "models/token_loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>

namespace skipless {

TokenLoss token_loss(const at::Tensor& logits, const at::Tensor& targets) {
  return {.sum = at::cross_entropy_loss(logits, targets, /*weight=*/{}, at::Reduction::Sum, kIgnoredTarget),
          .count = targets.ne(kIgnoredTarget).sum()};
}

}  // namespace skipless
