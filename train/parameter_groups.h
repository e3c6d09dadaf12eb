// Which trainable tensors weight decay reaches.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <string>
#include <vector>

namespace skipless {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

struct ParameterGroup {
  std::string name;
  double weight_decay = 0;
  std::vector<NamedTensor> parameters;
};

/// Every trainable tensor of `module` in exactly one of two groups. Decayed: matrices (two dimensions), which includes
/// the token and position embeddings and the trained part of a gained projection. Undecayed: gains, norms and biases,
/// that is whatever has not two dimensions, and by name what is a norm's or a bias whatever its shape.
/// A tensor registered under two names counts once, under the first.
std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& module, double weight_decay);

/// For the start of a run: one line per group, and one per kind of tensor in it ("block_*.attention.w_qk").
std::string describe(const std::vector<ParameterGroup>& groups);

}  // namespace skipless
