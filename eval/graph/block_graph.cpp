#include "eval/graph/block_graph.h"

#include <ATen/ops/linspace.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "eval/evaluation_mode.h"
#include "eval/graph/computation.h"
#include "eval/graph/found_modules.h"
#include "eval/graph/leaves.h"
#include "eval/graph/skips.h"

namespace skipless {

namespace {

using Kind = BlockGraph::Kind;
using Part = BlockGraph::Part;

constexpr int64_t kTokens = 3;

bool is_number(const Leaf* leaf) {
  return leaf->gain != nullptr || leaf->tensor.numel() == 1;
}

/// Whether what it reads is multiplied or added place by place.
bool is_by_place(const Operation& operation) {
  constexpr std::array kByPlace{"Add", "Sub", "Mul", "Div"};
  return std::find(kByPlace.begin(), kByPlace.end(), operation.name) != kByPlace.end();
}

bool is_gain(const Operation& operation) {
  return operation.name == "Mul" && operation.inputs.size() == 1 && !operation.leaves.empty() &&
         std::all_of(operation.leaves.begin(), operation.leaves.end(), is_number);
}

/// The leaf that makes an operation a matrix; null where there is none.
const Leaf* matrix_of(const Operation& operation) {
  if (is_by_place(operation)) return nullptr;
  const auto has_rows = [](const Leaf* leaf) { return leaf->tensor.dim() > 1 && leaf->gain == nullptr; };
  const auto found = std::find_if(operation.leaves.begin(), operation.leaves.end(), has_rows);
  return found == operation.leaves.end() ? nullptr : *found;
}

/// The number that stands in the code and multiplies the one input.
std::optional<double> constant_of(const Operation& operation) {
  const bool may_be = operation.inputs.size() == 1 && operation.leaves.empty() &&
                      (operation.name == "Mul" || operation.name == "Div" || operation.name == "Neg");
  if (!may_be) return std::nullopt;
  const double factor = factors(operation).front();
  return std::isnan(factor) ? std::nullopt : std::optional(factor);
}

class Builder {
 public:
  Builder(const Computation& computation, const std::map<size_t, FoundModule>& modules)
      : computation_(computation), modules_(modules) {}

  BlockGraph build(const Leaves& leaves) {
    const Source& result = computation_.output();
    note_reader(result);
    Part output{.kind = Kind::output, .name = "y", .in = result.width, .out = result.width};
    add_link(result, "", output);
    graph_.parts.push_back(std::move(output));
    for (const auto& leaf : leaves.all()) {
      if (leaf.is_trained && reader_of_.count(&leaf) == 0) graph_.unused.push_back(leaf.name);
    }
    return std::move(graph_);
  }

 private:
  const Operation& operation(size_t index) const { return computation_.operations()[index]; }
  bool is_module(size_t index) const { return modules_.count(index) > 0; }
  const std::vector<Source>& inputs_of(size_t index) const {
    return is_module(index) ? modules_.at(index).inputs : operation(index).inputs;
  }

  void note_reader(const Source& source) {
    auto& readers = readers_[source.operation];
    readers.push_back(source);
    if (readers.size() > 1) return;
    for (const auto& input : inputs_of(source.operation)) note_reader(input);
  }

  /// Whether the result is read in pieces that do not overlap and leave nothing out.
  bool is_read_in_pieces(size_t index) const {
    std::map<int64_t, int64_t> pieces;
    for (const auto& source : readers_.at(index)) pieces[source.first] = source.last;
    int64_t next = 0;
    for (const auto& [first, last] : pieces) {
      if (first != next) return false;
      next = last;
    }
    return pieces.size() > 1 && next == operation(index).width;
  }

  bool is_sum(size_t index) const {
    const auto& [name, node, width, inputs, leaves] = operation(index);
    return !is_module(index) && inputs.size() > 1 && leaves.empty() && (name == "Add" || name == "Sub");
  }

  /// The index of the part that `source` comes from.
  size_t add(const Source& source) {
    const size_t index = source.operation;
    const bool in_pieces = !is_module(index) && matrix_of(operation(index)) != nullptr && is_read_in_pieces(index);
    const Source rows = in_pieces ? source : Source{.operation = index, .last = operation(index).width};
    const auto key = std::pair(index, rows.first);
    if (const auto known = index_.find(key); known != index_.end()) return known->second;
    Part part = described(rows);
    graph_.parts.push_back(std::move(part));
    return index_[key] = graph_.parts.size() - 1;
  }

  /// A piece of what is one part is labelled with its columns.
  void add_link(const Source& source, const std::string& label, Part& part) {
    const size_t from = add(source);
    const bool is_piece = source.last - source.first < graph_.parts[from].out;
    part.inputs.push_back(
        {.from = from, .label = is_piece ? fmt::format("{}[{}:{}]", label, source.first, source.last) : label});
  }

  /// Those of a sum that nothing else reads are summands of this one.
  void add_summands(size_t index, double factor, Part& part) {
    const auto by = factors(operation(index));
    const auto& inputs = operation(index).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_sum(inputs[i].operation) && readers_.at(inputs[i].operation).size() == 1) {
        add_summands(inputs[i].operation, factor * by[i], part);
      } else {
        add_link(inputs[i], factor * by[i] == 1 ? "" : fmt::format("{:.4g}", factor * by[i]), part);
      }
    }
  }

  /// Of these leaves, those that no other operation counts. `rows`: what is counted of those that have rows.
  int64_t n_parameters(const std::vector<const Leaf*>& leaves, const Source& rows) {
    const int64_t width = operation(rows.operation).width;
    int64_t sum = 0;
    for (const auto* leaf : leaves) {
      const bool is_ours = reader_of_.emplace(leaf, rows.operation).first->second == rows.operation;
      if (!leaf->is_trained || !is_ours) continue;
      const int64_t n = leaf->tensor.numel();
      const bool has_rows = leaf->tensor.dim() > 0 && leaf->tensor.size(0) == width;
      sum += has_rows ? n / width * (rows.last - rows.first) : rows.first == 0 ? n : 0;
    }
    return sum;
  }

  Part described(const Source& rows) {
    const auto& inputs = inputs_of(rows.operation);
    Part part{.in = inputs.empty() ? rows.last : inputs.front().width, .out = rows.last - rows.first};
    if (inputs.empty()) {
      part.kind = Kind::input;
      part.name = "x";
    } else if (is_module(rows.operation)) {
      describe_module(modules_.at(rows.operation), rows, part);
    } else if (is_sum(rows.operation)) {
      part.kind = Kind::sum;
      add_summands(rows.operation, 1, part);
    } else {
      for (const auto& input : inputs) add_link(input, "", part);
      describe_operation(operation(rows.operation), rows, part);
    }
    return part;
  }

  void describe_module(const FoundModule& module, const Source& rows, Part& part) {
    part.kind = module.kind;
    part.name = module.name;
    part.formula = module.formula;
    part.heads = module.heads;
    part.gains = module.gains;
    part.parameters = n_parameters(module.leaves, rows);
    constexpr std::array kRoles{"q", "k", "v"};
    const bool is_attention = module.kind == Kind::attention;
    for (size_t i = 0; i < module.inputs.size(); ++i) {
      add_link(module.inputs[i], is_attention ? kRoles.at(i) : "", part);
    }
  }

  void describe_operation(const Operation& operation, const Source& rows, Part& part) {
    part.parameters = n_parameters(operation.leaves, rows);
    for (const auto* leaf : operation.leaves) {
      if (is_number(leaf)) part.gains.push_back(gain_value(leaf->name, *leaf));
    }
    if (const auto* matrix = matrix_of(operation)) {
      part.kind = Kind::matrix;
      part.name = matrix->name.substr(0, matrix->name.rfind(".weight"));
      for (auto& gain : part.gains) {
        if (gain.name.starts_with(part.name + ".")) gain.name.erase(0, part.name.size() + 1);
      }
      if (part.out < operation.width) part.name += fmt::format("[{}:{}]", rows.first, rows.last);
    } else if (is_gain(operation)) {
      part.kind = Kind::gain;
      part.name = part.gains.front().name;
    } else if (const auto constant = constant_of(operation)) {
      part.kind = Kind::gain;
      part.gains = {{.name = "", .smallest = *constant, .largest = *constant, .state = "constant"}};
    } else {
      part.kind = Kind::operation;
      part.formula = operation.name;
      if (!operation.leaves.empty()) part.name = operation.leaves.front()->name;
    }
  }

  const Computation& computation_;
  const std::map<size_t, FoundModule>& modules_;
  std::map<size_t, std::vector<Source>> readers_;       // of each operation's result
  std::map<const Leaf*, size_t> reader_of_;             // the operation that counts it
  std::map<std::pair<size_t, int64_t>, size_t> index_;  // of the part of an operation that begins with this row
  BlockGraph graph_;
};

}  // namespace

int64_t BlockGraph::count(Kind kind) const {
  return std::count_if(parts.begin(), parts.end(), [&](const Part& part) { return part.kind == kind; });
}

int64_t BlockGraph::n_skips() const {
  int64_t sum = 0;
  for (const auto& part : parts) {
    if (part.kind != Kind::sum) continue;
    sum += std::count_if(part.inputs.begin(), part.inputs.end(), [](const Link& link) { return link.is_skip; });
  }
  return sum;
}

int64_t BlockGraph::n_parameters() const {
  int64_t sum = 0;
  for (const auto& part : parts) sum += part.parameters;
  return sum;
}

BlockGraph block_graph(BlockImpl& block, int64_t d_model, const AttentionMask& mask) {
  const c10::AutoGradMode gradients(true);
  const EvaluationMode evaluation(block);
  const Leaves leaves(block);
  std::vector<AttentionCall> calls;
  const AttentionObserver observer = [&](ShapedAttentionImpl& attention, const at::Tensor& q, const at::Tensor& k) {
    calls.push_back({.module = &attention, .q = q, .k = k});
  };
  AttentionMask observed = mask;
  observed.observer = &observer;
  const auto x = at::linspace(-1, 1, kTokens * d_model, at::kDouble).view({1, kTokens, d_model}).requires_grad_();
  const Computation computation(block.forward(x, observed), {x}, leaves);
  auto graph = Builder(computation, find_modules(block, calls, mask, leaves, computation)).build(leaves);
  mark_skips(graph);
  return graph;
}

}  // namespace skipless
