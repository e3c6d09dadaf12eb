// A module's parameters and buffers by name, and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <map>
#include <string>

namespace skipless {

/// The module's own tensors, not copies.
std::map<std::string, at::Tensor> module_state(const torch::nn::Module& module);

/// Copies `saved` into the module. UserError, "SOURCE: ...", if the names, shapes or dtypes differ: the first tensor
/// that is missing, not known or of another shape is named, with both shapes, before anything is changed. Another
/// floating dtype is taken where each value stays what it is (float16 and bfloat16 into float32; float64 if it is not
/// finer).
void load_module_state(torch::nn::Module& module, const std::map<std::string, at::Tensor>& saved,
                       const std::string& source);

/// Throws that UserError, if any, for two sets of tensors. `owner` is what has the wanted ones: "model", "optimizer".
void require_same_tensors(const std::map<std::string, at::Tensor>& wanted,
                          const std::map<std::string, at::Tensor>& saved, const std::string& source,
                          const std::string& owner);

}  // namespace skipless
