#include "eval/graph/computation.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/variable.h>

#include <limits>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "configs/error.h"

namespace skipless {

namespace {

using torch::autograd::Edge;
using torch::autograd::Node;

/// "AddmmBackward0" -> "Addmm"
std::string name_of(const Node& node) {
  std::string name = node.name();
  const auto end = name.rfind("Backward");
  return end == std::string::npos || end == 0 ? name : name.substr(0, end);
}

/// Operations that only arrange, copy or cast values.
bool is_view(const std::string& name) {
  static const std::unordered_set<std::string_view> kViews{
      "Alias", "AsStrided", "Clone",   "Expand",         "Permute", "ReshapeAlias", "Select",     "Slice",     "Split",
      "T",     "ToCopy",    "Squeeze", "SplitWithSizes", "Unbind",  "Transpose",    "UnsafeView", "Unsqueeze", "View"};
  return kViews.count(name) > 0;
}

/// Of the last dimension of a node's `index`-th result.
int64_t width_of(const Node& node, size_t index) {
  const auto shape = node.input_metadata(index).shape_as_dim_vector();
  return shape.empty() ? 1 : shape.back().expect_int();
}

/// What the results of a view of `whole` are. Where they are pieces that make up its last dimension, each is known by
/// its place.
std::vector<Source> viewed(const Node& node, const Source& whole) {
  std::vector<Source> results(node.num_inputs(), whole);
  int64_t sum = 0;
  for (size_t i = 0; i < results.size(); ++i) sum += width_of(node, i);
  if (results.size() == 1 || sum != whole.width || whole.width != whole.last - whole.first) return results;
  int64_t first = whole.first;
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].first = first;
    results[i].last = first += width_of(node, i);
  }
  return results;
}

}  // namespace

/// Depth first, each node once.
class Computation::Walk {
 public:
  Walk(Computation& computation, const Leaves& leaves) : computation_(computation), leaves_(leaves) {}

  void add_input(const at::Tensor& input) {
    const Edge edge = torch::autograd::impl::gradient_edge(input);
    add_operation({.name = "input", .node = edge.function, .width = width_of(*edge.function, 0)});
  }

  /// Nothing where the value depends on no input.
  std::optional<Source> visit(const Edge& edge) {
    if (computation_.results_.count(edge.function.get()) == 0) visit_node(edge.function);
    return computation_.source(edge);
  }

 private:
  void add_operation(Operation operation) {
    const Source whole{.operation = computation_.operations_.size(), .last = operation.width};
    computation_.results_[operation.node.get()].assign(operation.node->num_inputs(), whole);
    computation_.operations_.push_back(std::move(operation));
  }

  void visit_node(const std::shared_ptr<Node>& node) {
    std::set<const Leaf*> read;
    std::vector<Source> inputs;
    for (const Edge& edge : node->next_edges()) {
      if (!edge.is_valid()) continue;
      if (const auto source = visit(edge)) {
        inputs.push_back(*source);
      } else {
        read.merge(std::set(leaves_of_.at(edge.function.get())));
      }
    }
    if (const Leaf* leaf = leaves_.find(node.get())) read.insert(leaf);
    if (inputs.empty()) {
      computation_.results_[node.get()];
      leaves_of_[node.get()] = read;
    } else if (inputs.size() == 1 && read.empty() && is_view(name_of(*node))) {
      computation_.results_[node.get()] = viewed(*node, inputs.front());
    } else {
      // Leaves lie in one array: the order of their addresses is the module's.
      add_operation({.name = name_of(*node),
                     .node = node,
                     .width = width_of(*node, 0),
                     .inputs = inputs,
                     .leaves = {read.begin(), read.end()}});
    }
  }

  Computation& computation_;
  const Leaves& leaves_;
  std::unordered_map<const Node*, std::set<const Leaf*>> leaves_of_;  // of nodes that depend on no input
};

Computation::Computation(const at::Tensor& output, const std::vector<at::Tensor>& inputs, const Leaves& leaves) {
  Walk walk(*this, leaves);
  for (const auto& input : inputs) walk.add_input(input);
  std::optional<Source> source;
  if (output.requires_grad()) {
    const Edge edge = torch::autograd::impl::gradient_edge(output);
    last_ = edge.function;
    source = walk.visit(edge);
  }
  if (!source) throw RunError("no gradient flows from the result to an input");
  output_ = *source;
}

std::optional<Source> Computation::source(const Edge& edge) const {
  const auto found = results_.find(edge.function.get());
  if (found == results_.end() || found->second.empty()) return std::nullopt;
  Source source = found->second.at(edge.input_nr);
  source.width = width_of(*edge.function, edge.input_nr);
  return source;
}

std::optional<Source> Computation::source(const at::Tensor& value) const {
  if (!value.requires_grad()) return std::nullopt;
  return source(torch::autograd::impl::gradient_edge(value));
}

std::vector<double> factors(const Operation& operation) {
  const c10::NoGradGuard no_grad;
  const auto gradients = (*operation.node)({operation.node->input_metadata(0).zeros_like().fill_(1)});
  std::vector<double> factors;
  for (const auto& gradient : gradients) {
    if (!gradient.defined()) continue;
    const double least = gradient.min().item<double>();
    const bool is_one_number = gradient.max().item<double>() == least;
    factors.push_back(is_one_number ? least : std::numeric_limits<double>::quiet_NaN());
  }
  // A gradient to something that depends on no input: which is whose is not known.
  if (factors.size() != operation.inputs.size()) {
    factors.assign(operation.inputs.size(), std::numeric_limits<double>::quiet_NaN());
  }
  return factors;
}

}  // namespace skipless
