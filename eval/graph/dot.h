// A block's graph as a drawing.
#pragma once

#include <string>

#include "eval/graph/block_graph.h"

namespace skipless {

/// In the language of Graphviz: `dot -Tpng` draws it. `name`: of the graph, and the start of its nodes' names, so that
/// several can be put into one. Skips are bold. Besides what is seen, the graph has the attributes parameters, skips
/// and norms, each node kind, part, does, columns_in, columns_out, parameters and gains, and a link that is a skip has
/// skip=1.
std::string dot_of(const BlockGraph& graph, const std::string& name);

}  // namespace skipless
