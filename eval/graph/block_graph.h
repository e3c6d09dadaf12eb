// How a block is wired, as one forward pass shows it: its parts, its gains, its sums and its skips.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eval/graph/gain_value.h"
#include "models/block.h"

namespace skipless {

/// Found in the autograd graph of a forward pass in float64, which takes the plain formulas. A norm and an attention
/// matrix are found as what their modules do by themselves; the rest is told apart by the parameters and buffers that
/// an operation reads, so that a block needs nothing of its own to be drawn. What carries no gradient is not seen.
struct BlockGraph {
  enum class Kind { input, norm, attention, matrix, gain, sum, operation, output };

  struct Link {
    size_t from = 0;       // an index of `parts`
    std::string label;     // of attention's inputs "q", "k", "v"; of a summand its factor where that is not 1
    bool is_skip = false;  // it leads to a sum what another summand is computed from (skips.h)
  };

  struct Part {
    Kind kind = Kind::operation;
    std::string name = {};     // of its module or parameter, with the rows it has of that: "attention.w_qk[0:768]"
    std::string formula = {};  // "αI + βA - γC"; of a norm its class, of an operation what it does
    int64_t in = 0, out = 0;   // last dimension that it reads and gives
    int64_t heads = 0;         // of attention, whose `in` and `out` are those of one head
    int64_t parameters = 0;    // trained; those with several readers count for one of them
    std::vector<GainValue> gains = {};
    std::vector<Link> inputs = {};
  };

  std::vector<Part> parts;          // in an order in which they can run: input first, output last
  std::vector<std::string> unused;  // trained parameters that the output does not depend on

  int64_t count(Kind kind) const;
  int64_t n_skips() const;
  int64_t n_parameters() const;
};

/// `block`: on the CPU, in float64. It is left as it was. RunError where its output does not depend on its input.
BlockGraph block_graph(BlockImpl& block, int64_t d_model, const AttentionMask& mask);

}  // namespace skipless
