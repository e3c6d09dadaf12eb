// Computes what a block's graph says, part by part.
#pragma once

#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "eval/graph/block_graph.h"

namespace skipless::test {

/// Modules and parameters are found by the names that the graph has them under, and biases by those of this project.
class GraphRun {
 public:
  GraphRun(const BlockGraph& graph, BlockImpl& block, int64_t n_head, const AttentionMask& mask)
      : graph_(graph), block_(block), n_head_(n_head), mask_(mask) {}

  at::Tensor operator()(const at::Tensor& x) {
    std::vector<at::Tensor> values;
    for (const auto& part : graph_.parts) values.push_back(value(part, x, values));
    return values.back();
  }

 private:
  using Kind = BlockGraph::Kind;

  at::Tensor value(const BlockGraph::Part& part, const at::Tensor& x, const std::vector<at::Tensor>& values) {
    const auto input = [&](size_t i) { return values.at(part.inputs.at(i).from); };
    switch (part.kind) {
      case Kind::input:
        return x;
      case Kind::output:
        return input(0);
      case Kind::norm:
        return norm(part.name, input(0));
      case Kind::attention:
        return module<ShapedAttentionImpl>(part.name)
            ->forward(heads(input(0)), heads(input(1)), heads(input(2)), mask_)
            .transpose(1, 2)
            .flatten(2);
      case Kind::matrix:
        return matrix(part, input(0));
      case Kind::gain:
        return input(0) * part.gains.at(0).smallest;
      case Kind::sum: {
        auto sum = at::Tensor(at::zeros_like(x));
        for (const auto& link : part.inputs) {
          sum = sum + values.at(link.from) * (link.label.empty() ? 1 : std::stod(link.label));
        }
        return sum;
      }
      case Kind::operation:
        if (part.formula == "Relu") return at::relu(input(0));
        if (part.formula == "Gelu") return at::gelu(input(0));
        if (part.formula == "Tanh") return input(0).tanh();
        if (part.formula == "Mul") return input(0) * input(1);
        if (part.formula == "Add") return input(0) + block_.named_parameters()[part.name];
        throw std::runtime_error(part.formula + " " + part.name);
    }
    throw std::runtime_error("a kind outside the enum");
  }

  template <class Module>
  std::shared_ptr<Module> module(const std::string& name) {
    const auto modules = block_.named_modules();
    return modules.contains(name) ? std::dynamic_pointer_cast<Module>(modules[name]) : nullptr;
  }

  at::Tensor heads(const at::Tensor& x) { return x.unflatten(-1, {n_head_, x.size(-1) / n_head_}).transpose(1, 2); }

  /// Those of queries and keys are for each head.
  at::Tensor norm(const std::string& name, const at::Tensor& x) {
    const auto norm = module<NormImpl>(name);
    const int64_t width = norm->parameters().front().numel();
    return norm->forward(x.unflatten(-1, {x.size(-1) / width, width})).flatten(-2);
  }

  at::Tensor matrix(const BlockGraph::Part& part, const at::Tensor& x) {
    if (const auto linear = module<GainedLinearImpl>(part.name)) return linear->forward(x);
    const auto piece = part.name.find('[');
    const auto name = part.name.substr(0, piece);
    const auto parameters = block_.named_parameters();
    const int64_t first = piece == std::string::npos ? 0 : std::stoll(part.name.substr(piece + 1));
    const auto rows = [&](const at::Tensor& whole) { return whole.slice(0, first, first + part.out); };
    auto bias = name;
    bias.replace(name.rfind("w_"), 1, "b");
    return at::linear(x, rows(parameters[name]), parameters.contains(bias) ? rows(parameters[bias]) : at::Tensor());
  }

  const BlockGraph& graph_;
  BlockImpl& block_;
  int64_t n_head_;
  AttentionMask mask_;
};

}  // namespace skipless::test
