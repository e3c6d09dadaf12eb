// The gains of a model, or of a block of it.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

namespace skipless {

/// Every Gain below `module` by its name, "attention.shape.alpha", and its value, [1] or [H, 1, 1].
std::vector<std::pair<std::string, at::Tensor>> gains_of(const torch::nn::Module& module);

}  // namespace skipless
