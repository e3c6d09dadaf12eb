#include "train/module_state.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "configs/error.h"
#include "configs/printable.h"

namespace skipless {

namespace {

std::string shape_of(const at::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes(), ", "));
}

}  // namespace

std::map<std::string, at::Tensor> module_state(const torch::nn::Module& module) {
  std::map<std::string, at::Tensor> state;
  for (const auto& item : module.named_parameters()) state.emplace(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace(item.key(), item.value());
  return state;
}

void require_same_tensors(const std::map<std::string, at::Tensor>& wanted,
                          const std::map<std::string, at::Tensor>& saved, const std::string& source) {
  for (const auto& [name, tensor] : wanted) {
    const auto found = saved.find(name);
    if (found == saved.end()) {
      throw UserError(fmt::format("{}: of another architecture: no tensor '{}', which this model has, of shape {}",
                                  source, name, shape_of(tensor)));
    }
    if (found->second.sizes() != tensor.sizes()) {
      throw UserError(fmt::format("{}: of another architecture: tensor '{}' has the shape {}, this model's has {}",
                                  source, name, shape_of(found->second), shape_of(tensor)));
    }
  }
  for (const auto& [name, tensor] : saved) {
    if (!wanted.contains(name)) {
      throw UserError(fmt::format("{}: of another architecture: tensor {} of shape {}, which this model has not",
                                  source, in_quotes(name), shape_of(tensor)));
    }
  }
}

void load_module_state(torch::nn::Module& module, const std::map<std::string, at::Tensor>& saved,
                       const std::string& source) {
  const auto state = module_state(module);
  require_same_tensors(state, saved, source);
  const c10::NoGradGuard no_grad;
  for (const auto& [name, tensor] : state) at::Tensor(tensor).copy_(saved.at(name));
}

}  // namespace skipless
