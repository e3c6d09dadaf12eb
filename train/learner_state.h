// What a checkpoint holds of a Learner beside its model: the optimizer's moments, the scale of the loss, the generators
// of random numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "train/checkpoint.h"
#include "train/learner.h"

namespace skipless {

/// The content of optimizer.safetensors. The tensors are the learner's own.
std::map<std::string, at::Tensor> learner_state(Learner& learner, at::Device device);

/// Puts `saved`, which it takes apart, and the tensors of the model back. UserError naming the first tensor that does
/// not fit. Continuing in another precision is said, and begins with a new scale of the loss.
void restore_learner(Learner& learner, at::Device device, Checkpoint& checkpoint, const CheckpointFolder& checkpoints);

}  // namespace skipless
