#include "train/non_finite.h"

#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "configs/error.h"
#include "train/accumulation.h"
#include "train/autocast.h"

namespace skipless {

namespace {

bool is_finite(const at::Tensor& tensor) {
  return at::isfinite(tensor).all().item<bool>();
}

std::string first_non_finite_activation(TransformerImpl& model, const Batch& batch) {
  const c10::NoGradGuard no_grad;
  const auto states = model.hidden_states(batch);
  for (size_t i = 0; i < states.size(); ++i) {
    if (is_finite(states[i])) continue;
    if (i == 0) return "the output of embedding";
    if (i + 1 == states.size()) return fmt::format("the output of block_{} or final_norm", i - 1);
    return fmt::format("the output of block_{}", i - 1);
  }
  return is_finite(model.logits(states.back(), batch)) ? "" : "the logits";
}

}  // namespace

std::string first_non_finite_parameter(const torch::nn::Module& module) {
  const c10::NoGradGuard no_grad;
  const auto parameters = module.parameters();
  if (parameters.empty()) return "";
  // One number per tensor and one look at them all; only a bad model pays for the search.
  const auto largest = at::stack(at::_foreach_norm(parameters, std::numeric_limits<double>::infinity()));
  if (is_finite(largest)) return "";
  for (const auto& item : module.named_parameters()) {
    if (!is_finite(item.value())) return "parameter " + item.key();
  }
  return "";
}

void require_finite_loss(double loss, const torch::nn::Module& module) {
  if (std::isfinite(loss)) return;
  const auto name = first_non_finite_parameter(module);
  throw RunError(
      fmt::format("the loss is {}: {}", loss,
                  name.empty() ? "too large for float32, though every parameter is finite" : name + " is not finite"));
}

std::string first_non_finite(TransformerImpl& model, const Batch& batch, int64_t micro_batch, Precision precision,
                             const at::Tensor& factor) {
  if (auto name = first_non_finite_parameter(model); !name.empty()) return name;
  const auto micro_batches = batch.split(micro_batch);
  const auto device = batch.ids.device().type();
  for (const auto& part : micro_batches) {
    const Autocast autocast(device, precision);
    if (auto name = first_non_finite_activation(model, part); !name.empty()) return name;
  }
  const auto loss_of = [&](int64_t i) {
    const Autocast autocast(device, precision);
    return model.loss(micro_batches[static_cast<size_t>(i)]);
  };
  const auto loss =
      accumulate_gradients(model.parameters(), static_cast<int64_t>(micro_batches.size()), loss_of, factor);
  if (!is_finite(loss.sum)) return "the loss";
  auto named = model.named_parameters().pairs();
  std::reverse(named.begin(), named.end());
  for (const auto& [name, parameter] : named) {
    if (parameter.grad().defined() && !is_finite(parameter.grad())) return "the gradient of " + name;
  }
  return "";
}

}  // namespace skipless
