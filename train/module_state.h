// A module's parameters and buffers by name, and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <map>
#include <string>

namespace skipless {

/// The module's own tensors, not copies.
std::map<std::string, at::Tensor> module_state(const torch::nn::Module& module);

/// Copies `saved` into the module. UserError, "SOURCE: ...", if the names or shapes differ: the first tensor that is
/// missing, not known or of another shape is named, with both shapes, before anything is changed.
void load_module_state(torch::nn::Module& module, const std::map<std::string, at::Tensor>& saved,
                       const std::string& source);

/// Throws that UserError, if any, for two sets of tensors.
void require_same_tensors(const std::map<std::string, at::Tensor>& wanted,
                          const std::map<std::string, at::Tensor>& saved, const std::string& source);

}  // namespace skipless
