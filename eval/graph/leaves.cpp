#include "eval/graph/leaves.h"

#include <torch/csrc/autograd/variable.h>

namespace skipless {

Leaves::Leaves(const torch::nn::Module& module) {
  for (const auto& part : module.named_modules()) {
    const auto* gain = dynamic_cast<const GainImpl*>(part.value().get());
    const auto add = [&](const std::string& name, const at::Tensor& tensor, bool is_trained) {
      if (!tensor.is_floating_point()) return;
      tensor.set_requires_grad(true);
      auto node = torch::autograd::impl::gradient_edge(tensor).function;
      if (!index_.emplace(node.get(), all_.size()).second) return;  // shared, and known by its first name
      all_.push_back({.name = part.key().empty() ? name : part.key() + "." + name,
                      .tensor = tensor,
                      .is_trained = is_trained,
                      .gain = gain,
                      .node = node});
    };
    for (const auto& item : part.value()->named_parameters(/*recurse=*/false)) {
      add(item.key(), item.value(), item.value().requires_grad());
    }
    for (const auto& item : part.value()->named_buffers(/*recurse=*/false)) add(item.key(), item.value(), false);
  }
}

Leaves::~Leaves() {
  for (const auto& leaf : all_) leaf.tensor.set_requires_grad(leaf.is_trained);
}

const Leaf* Leaves::find(const torch::autograd::Node* node) const {
  const auto found = index_.find(node);
  return found == index_.end() ? nullptr : &all_[found->second];
}

}  // namespace skipless
