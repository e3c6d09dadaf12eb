#include "models/recompute.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>
#include <utility>
#include <vector>

namespace skipless {

namespace {

/// The states of the generators that a pass on `device` draws from.
class GeneratorStates {
 public:
  explicit GeneratorStates(at::Device device) {
    states_.emplace_back(at::kCPU, at::Tensor());
    if (!device.is_cpu()) states_.emplace_back(device, at::Tensor());
    for (auto& [where, state] : states_) {
      auto generator = at::globalContext().defaultGenerator(where);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      state = generator.get_state();
    }
  }
  void set() const {
    for (const auto& [where, state] : states_) {
      auto generator = at::globalContext().defaultGenerator(where);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(state);
    }
  }

 private:
  std::vector<std::pair<at::Device, at::Tensor>> states_;
};

class AutocastState {
 public:
  explicit AutocastState(at::DeviceType device)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        dtype_(at::autocast::get_autocast_dtype(device)),
        cache_(at::autocast::is_autocast_cache_enabled()) {}
  void set() const {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
    at::autocast::set_autocast_cache_enabled(cache_);
  }

 private:
  at::DeviceType device_;
  bool enabled_;
  at::ScalarType dtype_;
  bool cache_;
};

/// Sets `there` for as long as it lives, also when it ends in an error (out of memory).
template <class State>
class Visit {
 public:
  Visit(const State& there, State here) : here_(std::move(here)) { there.set(); }
  ~Visit() { here_.set(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  State here_;
};

/// What the second pass needs beside x.
struct Pass : torch::CustomClassHolder {
  Pass(Block block_, AttentionMask mask_, const at::Tensor& x)
      : block(std::move(block_)), mask(std::move(mask_)), autocast(x.device().type()), generators(x.device()) {}

  /// Without autocast's cache: a weight that is cast in the first pass, which records no graph, must not serve the
  /// second.
  torch::Tensor forward(const torch::Tensor& x, bool again) {
    const Visit visit(autocast, AutocastState(x.device().type()));
    at::autocast::set_autocast_cache_enabled(false);
    mask.recomputing = again;
    return block->forward(x, mask);
  }

  Block block;
  AttentionMask mask;
  AutocastState autocast;
  GeneratorStates generators;
};

class RecomputedBlock : public torch::autograd::Function<RecomputedBlock> {
 public:
  /// `parameters`: the block's, so that their gradients take the ordinary way.
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const c10::intrusive_ptr<Pass>& pass,
                               const torch::Tensor& x, at::TensorList parameters) {
    torch::autograd::variable_list saved{x};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["pass"] = c10::IValue::make_capsule(pass);
    return pass->forward(x, /*again=*/false);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list of_y) {
    auto inputs = context->get_saved_variables();
    const auto pass = c10::static_intrusive_pointer_cast<Pass>(context->saved_data["pass"].toCapsule());
    inputs[0] = inputs[0].detach().requires_grad_();
    torch::Tensor y;
    {
      const Visit visit(pass->generators, GeneratorStates(inputs[0].device()));
      const c10::AutoGradMode record(true);
      y = pass->forward(inputs[0], /*again=*/true);
    }
    auto gradients = torch::autograd::grad({y}, inputs, of_y, /*retain_graph=*/false, /*create_graph=*/false,
                                           /*allow_unused=*/true);
    gradients.insert(gradients.begin(), torch::Tensor());  // of `pass`
    return gradients;
  }
};

}  // namespace

torch::Tensor recomputed(const Block& block, const torch::Tensor& x, const AttentionMask& mask) {
  std::vector<torch::Tensor> parameters;
  for (const auto& parameter : block->parameters()) {
    if (parameter.requires_grad()) parameters.push_back(parameter);
  }
  return RecomputedBlock::apply(c10::make_intrusive<Pass>(block, mask, x), x, at::TensorList(parameters));
}

}  // namespace skipless
