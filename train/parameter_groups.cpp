#include "train/parameter_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace skipless {

namespace {

bool is_decayed(const std::string& name, const at::Tensor& parameter) {
  const auto dot = name.rfind('.');
  const std::string_view path = std::string_view(name).substr(0, dot == std::string::npos ? 0 : dot);
  const std::string_view leaf = std::string_view(name).substr(dot == std::string::npos ? 0 : dot + 1);
  const bool of_a_norm = path.find("norm") != std::string_view::npos || leaf == "scale";
  const bool is_bias = leaf == "bias" || leaf.starts_with("b_");
  return parameter.dim() == 2 && !of_a_norm && !is_bias;
}

/// "block_12.attention.w_qk" -> "block_*.attention.w_qk"
std::string kind_of(std::string_view name) {
  constexpr std::string_view kPrefix = "block_";
  const auto dot = name.find('.');
  if (!name.starts_with(kPrefix) || dot == std::string_view::npos) return std::string(name);
  return "block_*" + std::string(name.substr(dot));
}

}  // namespace

std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& module, double weight_decay) {
  std::vector<ParameterGroup> groups{{"decayed", weight_decay, {}}, {"undecayed", 0, {}}};
  std::set<const at::TensorImpl*> seen;
  for (const auto& item : module.named_parameters()) {
    if (!item.value().requires_grad() || !seen.insert(item.value().unsafeGetTensorImpl()).second) continue;
    auto& group = groups[is_decayed(item.key(), item.value()) ? 0 : 1];
    group.parameters.push_back({item.key(), item.value()});
  }
  return groups;
}

std::string describe(const std::vector<ParameterGroup>& groups) {
  struct Kind {
    std::string name;
    int64_t n_tensors = 0;
    int64_t n_values = 0;
  };
  std::string text;
  for (const auto& group : groups) {
    std::vector<Kind> kinds;
    int64_t n_values = 0;
    for (const auto& parameter : group.parameters) {
      const std::string name = kind_of(parameter.name);
      auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.name == name; });
      if (kind == kinds.end()) kind = kinds.insert(kind, Kind{.name = name});
      ++kind->n_tensors;
      kind->n_values += parameter.tensor.numel();
      n_values += parameter.tensor.numel();
    }
    text += fmt::format("{}{}, weight decay {}: {} tensors, {} values", text.empty() ? "" : "\n", group.name,
                        group.weight_decay, group.parameters.size(), n_values);
    for (const auto& kind : kinds) text += fmt::format("\n  {} x {}: {}", kind.n_tensors, kind.name, kind.n_values);
  }
  return text;
}

}  // namespace skipless
