// The states of LibTorch's generators of random numbers, which dropout draws from, as tensors of a checkpoint.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <map>
#include <string>

namespace skipless {

/// Adds "rng.cpu", and on a CUDA device "rng.cuda".
void save_generators(at::Device device, std::map<std::string, at::Tensor>& tensors);

/// Takes them out of `tensors` and puts them back into the generators. UserError when one is missing or is no state;
/// `source`: the file, for the error. A run that comes from another kind of device (`was_on_cuda`) has no state for
/// this one: its generator then stays as it is, and that is said.
void restore_generators(at::Device device, std::map<std::string, at::Tensor>& tensors, const std::string& source,
                        bool was_on_cuda);

}  // namespace skipless
