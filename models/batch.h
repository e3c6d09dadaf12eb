// What a model's loss is taken on.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace skipless {

/// B sequences, right-padded to T tokens. Tensors that a model has no use for stay undefined.
struct Batch {
  at::Tensor ids;          // [B, T] int64
  at::Tensor labels;       // what is predicted, as the model's loss() says
  at::Tensor kept;         // [B, T] bool, true at real tokens; undefined: all are
  at::Tensor token_types;  // [B, T] int64, which text of a pair a token is of; undefined: all 0
  at::Tensor positions;    // [B, M] int64: where a masked language model predicts; undefined: everywhere

  int64_t sequences() const { return ids.size(0); }
  /// Micro-batches of at most `sequences` each, views.
  std::vector<Batch> split(int64_t sequences) const;
  Batch to(c10::Device device) const;
};

}  // namespace skipless
