#include "eval/graph/found_modules.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <utility>

#include "eval/graph/pattern.h"

namespace skipless {

namespace {

/// "skipless::RmsNormImpl" -> "RmsNorm"
std::string class_of(const torch::nn::Module& module) {
  std::string name = module.name();
  name = name.substr(name.rfind(':') + 1);
  return name.ends_with("Impl") ? name.substr(0, name.size() - 4) : name;
}

bool is_fixed_at(const GainValue& gain, double value) {
  return gain.state == "fixed" && gain.smallest == value && gain.largest == value;
}

/// P of these gains, without the terms that a gain fixed at 0 takes away and the factors that one fixed at 1 is.
std::string attention_formula(const std::vector<GainValue>& gains, bool has_lambda) {
  static const std::map<std::string, std::pair<std::string, std::string>> kTerms{
      {"alpha", {"α", "I"}}, {"beta", {"β", "A"}}, {"gamma", {"γ", "C"}}};
  std::string formula;
  for (const auto& gain : gains) {
    const auto term = kTerms.find(gain.name);
    if (term == kTerms.end() || is_fixed_at(gain, 0)) continue;
    const bool is_minus = gain.name == "gamma";
    if (!formula.empty() || is_minus) formula += is_minus ? " - " : " + ";
    const auto& [symbol, matrix] = term->second;
    formula += is_fixed_at(gain, 1) ? matrix : symbol + matrix;
  }
  return has_lambda ? "λI + (1 - λ)(" + formula + ")" : formula;
}

class Search {
 public:
  Search(const Leaves& leaves, const Computation& whole) : leaves_(leaves), whole_(whole) {}

  void add_norm(const std::string& name, NormImpl& norm) {
    if (norm.parameters().empty()) return;
    const auto x = at::zeros({1, 1, norm.parameters().front().numel()}, at::kDouble).requires_grad_();
    const Computation pattern(norm.forward(x), {x}, leaves_);
    const FoundModule module{.kind = BlockGraph::Kind::norm, .name = name, .formula = class_of(norm)};
    add(pattern, 1, module, [](const auto&) { return true; });
  }

  void add_attention(const std::string& name, const AttentionCall& call, const AttentionMask& mask) {
    const auto fresh = [&] { return at::zeros_like(call.q.detach()).requires_grad_(); };
    const auto q = fresh(), k = fresh(), v = fresh();
    const Computation pattern(call.module->forward(q, k, v, mask), {q, k, v}, leaves_);
    FoundModule module{.kind = BlockGraph::Kind::attention, .name = name, .heads = q.size(1)};
    for (const auto& leaf : leaves_.all()) {
      const bool is_below = leaf.gain != nullptr && leaf.name.starts_with(name + ".");
      if (is_below) module.gains.push_back(gain_value(leaf.name.substr(name.size() + 1), leaf));
    }
    const auto buffers = call.module->named_buffers(/*recurse=*/false);
    const bool has_lambda = buffers.contains("lambda");
    module.formula = attention_formula(module.gains, has_lambda);
    if (has_lambda) {
      const double lambda = buffers["lambda"].item<double>();
      module.gains.push_back({.name = "lambda", .smallest = lambda, .largest = lambda, .state = "by schedule"});
    }
    const auto of_q = whole_.source(call.q), of_k = whole_.source(call.k);
    add(pattern, 3, module, [&](const std::vector<Source>& inputs) {
      return of_q && of_k && inputs[0].is_same(*of_q) && inputs[1].is_same(*of_k);
    });
  }

  std::map<size_t, FoundModule> found() && { return std::move(found_); }

 private:
  /// `is_it`: whether these inputs can be those of the module.
  template <class Accept>
  void add(const Computation& pattern, size_t n_inputs, const FoundModule& module, const Accept& is_it) {
    for (size_t last = 0; last < whole_.operations().size(); ++last) {
      auto inputs = find_pattern(pattern, n_inputs, whole_, last);
      if (!inputs || !is_it(*inputs)) continue;
      auto& found = found_.emplace(last, module).first->second;
      found.inputs = std::move(*inputs);
      for (const auto& operation : pattern.operations()) {
        found.leaves.insert(found.leaves.end(), operation.leaves.begin(), operation.leaves.end());
      }
    }
  }

  const Leaves& leaves_;
  const Computation& whole_;
  std::map<size_t, FoundModule> found_;
};

}  // namespace

std::map<size_t, FoundModule> find_modules(BlockImpl& block, const std::vector<AttentionCall>& calls,
                                           const AttentionMask& mask, const Leaves& leaves, const Computation& whole) {
  Search search(leaves, whole);
  for (const auto& part : block.named_modules()) {
    if (auto* norm = dynamic_cast<NormImpl*>(part.value().get())) search.add_norm(part.key(), *norm);
    for (const auto& call : calls) {
      if (part.value().get() == call.module) search.add_attention(part.key(), call, mask);
    }
  }
  return std::move(search).found();
}

}  // namespace skipless
