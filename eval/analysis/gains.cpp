#include "eval/analysis/gains.h"

#include "models/gain.h"

namespace skipless {

std::vector<std::pair<std::string, at::Tensor>> gains_of(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, at::Tensor>> gains;
  for (const auto& part : module.named_modules()) {
    const auto* gain = dynamic_cast<const GainImpl*>(part.value().get());
    if (gain != nullptr) gains.emplace_back(part.key(), gain->value());
  }
  return gains;
}

}  // namespace skipless
