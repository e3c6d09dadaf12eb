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
/// `source`: the file, for the error.
void restore_generators(at::Device device, std::map<std::string, at::Tensor>& tensors, const std::string& source);

}  // namespace skipless
