// The norms and the attention matrices of a block, found in what it computes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "eval/graph/block_graph.h"
#include "eval/graph/computation.h"
#include "eval/graph/leaves.h"

namespace skipless {

/// What a block's forward pass told of its attention.
struct AttentionCall {
  ShapedAttentionImpl* module = nullptr;
  at::Tensor q, k;
};

struct FoundModule {
  BlockGraph::Kind kind = BlockGraph::Kind::norm;
  std::string name = {};     // "norm_1"
  std::string formula = {};  // BlockGraph::Part::formula
  int64_t heads = 0;         // of attention
  std::vector<GainValue> gains = {};
  std::vector<Source> inputs = {};       // of attention q, k and v
  std::vector<const Leaf*> leaves = {};  // all that it reads
};

/// By the operations that end them. Each module runs once by itself, and what it does there is looked for in `whole`.
std::map<size_t, FoundModule> find_modules(BlockImpl& block, const std::vector<AttentionCall>& calls,
                                           const AttentionMask& mask, const Leaves& leaves, const Computation& whole);

}  // namespace skipless
