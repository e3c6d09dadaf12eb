#include "train/learner_state.h"

#include <spdlog/spdlog.h>

#include "train/generator_state.h"
#include "train/module_state.h"

namespace skipless {

std::map<std::string, at::Tensor> learner_state(Learner& learner, at::Device device) {
  auto tensors = learner.optimizer().state();
  if (const auto* const scaler = learner.scaler()) tensors.merge(scaler->state());
  save_generators(device, tensors);
  return tensors;
}

void restore_learner(Learner& learner, at::Device device, Checkpoint& checkpoint, const CheckpointFolder& checkpoints) {
  const auto& state = checkpoint.state;
  load_module_state(learner.model(), checkpoint.model.tensors, checkpoints.path_of(state.step).string());
  const std::string source = checkpoints.optimizer_file(state.step).string();
  auto& saved = checkpoint.optimizer.tensors;
  restore_generators(device, saved, source, state.on_cuda);
  const auto scale = extract_loss_scale(saved);
  if (state.precision != name_of(learner.precision())) {
    spdlog::warn("continuing in {}; the run so far was in {}", name_of(learner.precision()), state.precision);
  } else if (auto* const scaler = learner.scaler()) {
    scaler->load(scale, source);
  }
  learner.optimizer().load(saved, source);
}

}  // namespace skipless
