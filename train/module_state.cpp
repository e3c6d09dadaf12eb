#include "train/module_state.h"

#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/error.h"
#include "configs/printable.h"

namespace skipless {

namespace {

std::string shape_of(const at::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes(), ", "));
}

/// Whether the values of `tensor` stay what they are in `dtype`.
bool is_same_in(const at::Tensor& tensor, at::ScalarType dtype) {
  const auto own = tensor.scalar_type();
  if (own == dtype) return true;
  if (!at::isFloatingType(own) || !at::isFloatingType(dtype)) return false;
  return c10::promoteTypes(own, dtype) == dtype || tensor.to(dtype).to(own).equal(tensor);
}

}  // namespace

std::map<std::string, at::Tensor> module_state(const torch::nn::Module& module) {
  std::map<std::string, at::Tensor> state;
  for (const auto& item : module.named_parameters()) state.emplace(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace(item.key(), item.value());
  return state;
}

void require_same_tensors(const std::map<std::string, at::Tensor>& wanted,
                          const std::map<std::string, at::Tensor>& saved, const std::string& source,
                          const std::string& owner) {
  const std::string other = fmt::format("{}: of another {}", source, owner == "model" ? "architecture" : owner);
  for (const auto& [name, tensor] : wanted) {
    const auto found = saved.find(name);
    if (found == saved.end()) {
      throw UserError(
          fmt::format("{}: no tensor '{}', which this {} has, of shape {}", other, name, owner, shape_of(tensor)));
    }
    if (found->second.sizes() != tensor.sizes()) {
      throw UserError(fmt::format("{}: tensor '{}' has the shape {}, this {}'s has {}", other, name,
                                  shape_of(found->second), owner, shape_of(tensor)));
    }
    if (!is_same_in(found->second, tensor.scalar_type())) {
      throw UserError(fmt::format("{}: tensor '{}' is of dtype {}, which this {}'s {} cannot hold unchanged", source,
                                  name, c10::toString(found->second.scalar_type()), owner,
                                  c10::toString(tensor.scalar_type())));
    }
  }
  for (const auto& [name, tensor] : saved) {
    if (!wanted.contains(name)) {
      throw UserError(fmt::format("{}: tensor {} of shape {}, which this {} has not", other, in_quotes(name),
                                  shape_of(tensor), owner));
    }
  }
}

void load_module_state(torch::nn::Module& module, const std::map<std::string, at::Tensor>& saved,
                       const std::string& source) {
  const auto state = module_state(module);
  require_same_tensors(state, saved, source, "model");
  const c10::NoGradGuard no_grad;
  for (const auto& [name, tensor] : state) at::Tensor(tensor).copy_(saved.at(name));
}

}  // namespace skipless
