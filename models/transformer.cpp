#include "models/transformer.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "models/recompute.h"

namespace skipless {

TransformerImpl::TransformerImpl(const ModelConfig& config) : config_(config) {
  embedding_ = register_module("embedding", Embedding(config));
  std::vector<Attention> stack;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    blocks_.push_back(register_module(fmt::format("block_{}", layer), config.block_config().build(config, layer)));
    stack.push_back(blocks_.back()->attention());
  }
  if (config.block_config().attention_config().tie_init == TieInit::last_block) tie_last_block(stack);
  final_norm_ = register_module("final_norm", make_norm(config.final_norm, config.d_model, config.final_norm_eps));
  for (const auto& module : modules(/*include_self=*/false)) {
    if (auto* follower = dynamic_cast<StepFollower*>(module.get())) followers_.push_back(follower);
  }
}

AttentionMask TransformerImpl::attention_mask(const Batch& batch) const {
  return {.causal = config_.kind == ModelKind::gpt,
          .kept = batch.kept,
          .centre_over_all = config_.centring_over == CentringOver::all};
}

std::vector<torch::Tensor> TransformerImpl::hidden_states(const Batch& batch) {
  const auto mask = attention_mask(batch);
  std::vector<torch::Tensor> states{embedding_->forward(batch.ids, 0, batch.token_types)};
  for (const auto& block : blocks_) states.push_back(block->forward(states.back(), mask));
  states.back() = final_norm_->forward(states.back());
  return states;
}

torch::Tensor TransformerImpl::final_hidden(const Batch& batch) {
  const auto mask = attention_mask(batch);
  auto x = embedding_->forward(batch.ids, 0, batch.token_types);
  const bool recompute = recompute_ && c10::GradMode::is_enabled();
  for (const auto& block : blocks_) x = recompute ? recomputed(block, x, mask) : block->forward(x, mask);
  return final_norm_->forward(x);
}

void TransformerImpl::begin_step(int64_t step) {
  for (auto* follower : followers_) follower->begin_step(step);
}

void TransformerImpl::end_step(const torch::Tensor& skipped) {
  for (auto* follower : followers_) follower->end_step(skipped);
}

}  // namespace skipless
