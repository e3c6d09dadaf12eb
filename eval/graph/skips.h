// Which links of a block's graph are skips.
#pragma once

#include "eval/graph/block_graph.h"

namespace skipless {

/// Sets Link::is_skip. A summand is a skip if, back along gains alone, it is a value that another summand is computed
/// from by something more than gains and sums: of x + f(x) the first one.
void mark_skips(BlockGraph& graph);

}  // namespace skipless
