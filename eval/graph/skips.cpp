#include "eval/graph/skips.h"

namespace skipless {

namespace {

using Kind = BlockGraph::Kind;

bool is_linear_alone(const BlockGraph::Part& part) {
  return part.kind == Kind::gain || part.kind == Kind::sum;
}

class Paths {
 public:
  explicit Paths(const BlockGraph& graph) : graph_(graph) {}

  /// Whether `to` is computed from `from` by more than gains and sums. `changed`: something more lies behind `to`.
  bool leads(size_t from, size_t to, bool changed = false) const {
    if (to == from) return changed;
    const auto& part = graph_.parts[to];
    for (const auto& link : part.inputs) {
      if (leads(from, link.from, changed || !is_linear_alone(part))) return true;
    }
    return false;
  }

 private:
  const BlockGraph& graph_;
};

}  // namespace

void mark_skips(BlockGraph& graph) {
  const Paths paths(graph);
  for (auto& sum : graph.parts) {
    if (sum.kind != Kind::sum) continue;
    for (size_t i = 0; i < sum.inputs.size(); ++i) {
      const auto is_start = [&](size_t part) {
        for (size_t other = 0; other < sum.inputs.size(); ++other) {
          if (other != i && paths.leads(part, sum.inputs[other].from)) return true;
        }
        return false;
      };
      auto* link = &sum.inputs[i];
      std::vector<BlockGraph::Link*> behind{link};
      while (!is_start(link->from) && graph.parts[link->from].kind == Kind::gain) {
        link = &graph.parts[link->from].inputs.front();
        behind.push_back(link);
      }
      if (!is_start(link->from)) continue;
      for (auto* part : behind) part->is_skip = true;
    }
  }
}

}  // namespace skipless
