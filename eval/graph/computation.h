// How a tensor came about, as LibTorch's autograd recorded it: its operations, without views, and what each one reads.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "eval/graph/leaves.h"

namespace skipless {

/// A value that an operation reads: the result of another one, or of its last dimension the columns [first, last).
struct Source {
  size_t operation = 0;
  int64_t first = 0, last = 0;
  int64_t width = 0;  // of the last dimension as it is read, after views

  /// Whether both are the same columns of the same result.
  bool is_same(const Source& other) const {
    return operation == other.operation && first == other.first && last == other.last;
  }
};

struct Operation {
  std::string name;  // that of its gradient: "Mm", "Add", "Softmax"; of an input "input"
  std::shared_ptr<torch::autograd::Node> node;
  int64_t width = 0;                     // of the last dimension of its result
  std::vector<Source> inputs = {};       // those that depend on an input of the computation
  std::vector<const Leaf*> leaves = {};  // what else it reads, alone or in expressions of leaves only; each once
};

/// The operations that `output` depends on `inputs` by. A value that no gradient flows through is a constant.
class Computation {
 public:
  /// `inputs`: leaves of autograd. RunError where `output` depends on none of them.
  Computation(const at::Tensor& output, const std::vector<at::Tensor>& inputs, const Leaves& leaves);

  /// In an order in which they can run. The first ones are the inputs, which read nothing.
  const std::vector<Operation>& operations() const { return operations_; }
  const Source& output() const { return output_; }
  /// Of another tensor of the same pass; nothing where `output` does not depend on it, or it on no input.
  std::optional<Source> source(const at::Tensor& value) const;

 private:
  class Walk;
  std::optional<Source> source(const torch::autograd::Edge& edge) const;

  std::vector<Operation> operations_;
  std::unordered_map<const torch::autograd::Node*, std::vector<Source>> results_;  // of every node that was met
  std::shared_ptr<torch::autograd::Node> last_;                                    // keeps them all
  Source output_;
};

/// What an operation of one result and no leaves multiplies each of its inputs with: d(result)/d(input) where that is
/// the same number in every place, else NaN.
std::vector<double> factors(const Operation& operation);

}  // namespace skipless
