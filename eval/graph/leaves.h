// The parameters and buffers of a module, as autograd knows them.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/gain.h"

namespace skipless {

struct Leaf {
  std::string name;  // "attention.value.weight"
  at::Tensor tensor;
  bool is_trained = false;
  const GainImpl* gain = nullptr;                    // whose value it is; null: of no gain
  std::shared_ptr<torch::autograd::Node> node = {};  // what stands for it in the graph
};

/// All of `module` that are floating-point. As long as it lives each of them needs a gradient, buffers too, so that
/// autograd records what reads fixed gains and fixed matrices.
class Leaves {
 public:
  explicit Leaves(const torch::nn::Module& module);
  ~Leaves();
  Leaves(const Leaves&) = delete;
  Leaves& operator=(const Leaves&) = delete;

  /// Null where `node` stands for none of them.
  const Leaf* find(const torch::autograd::Node* node) const;
  /// Module by module, in the order in which they are registered.
  const std::vector<Leaf>& all() const { return all_; }

 private:
  std::vector<Leaf> all_;
  std::unordered_map<const torch::autograd::Node*, size_t> index_;
};

}  // namespace skipless
