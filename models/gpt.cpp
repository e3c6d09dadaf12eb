#include "models/gpt.h"

#include <ATen/ops/linear.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "models/recompute.h"

namespace skipless {

GptImpl::GptImpl(const ModelConfig& config) : config_(config) {
  embedding_ = register_module("embedding", Embedding(config));
  std::vector<Attention> stack;
  for (int64_t layer = 0; layer < config.n_layer; ++layer) {
    blocks_.push_back(register_module(fmt::format("block_{}", layer), config.block_config().build(config, layer)));
    stack.push_back(blocks_.back()->attention());
  }
  if (config.block_config().attention_config().tie_init == TieInit::last_block) tie_last_block(stack);
  final_norm_ = register_module("final_norm", make_norm(config.final_norm, config.d_model, config.final_norm_eps));
  if (!config.tied_head) {
    head_ = register_parameter(
        "head", initial_matrix(config.init.embedding, config.n_embedding(), config.d_model, config.init_std));
  }
  for (const auto& module : modules(/*include_self=*/false)) {
    if (auto* follower = dynamic_cast<StepFollower*>(module.get())) followers_.push_back(follower);
  }
}

std::vector<torch::Tensor> GptImpl::hidden_states(const torch::Tensor& ids, const torch::Tensor& kept) {
  const AttentionMask mask{.causal = true, .kept = kept};
  std::vector<torch::Tensor> states{embedding_->forward(ids)};
  for (const auto& block : blocks_) states.push_back(block->forward(states.back(), mask));
  states.back() = final_norm_->forward(states.back());
  return states;
}

torch::Tensor GptImpl::final_hidden(const torch::Tensor& ids, const torch::Tensor& kept) {
  const AttentionMask mask{.causal = true, .kept = kept};
  auto x = embedding_->forward(ids);
  const bool recompute = recompute_ && c10::GradMode::is_enabled();
  for (const auto& block : blocks_) x = recompute ? recomputed(block, x, mask) : block->forward(x, mask);
  return final_norm_->forward(x);
}

torch::Tensor GptImpl::extend(const torch::Tensor& ids, GptCache& cache) {
  const torch::NoGradGuard no_grad;
  auto x = embedding_->forward(ids, cache.length());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const AttentionMask mask{.causal = true, .kept = {}, .cache = &cache.layer(i)};
    x = blocks_[i]->forward(x, mask);
  }
  return final_norm_->forward(x);
}

void GptImpl::begin_step(int64_t step) {
  for (auto* follower : followers_) follower->begin_step(step);
}

void GptImpl::end_step(const torch::Tensor& skipped) {
  for (auto* follower : followers_) follower->end_step(skipped);
}

torch::Tensor GptImpl::logits(const torch::Tensor& hidden) {
  return at::linear(hidden, output_matrix()).slice(-1, 0, config_.vocab_size);
}

torch::Tensor GptImpl::forward(const torch::Tensor& ids, const torch::Tensor& kept) {
  return logits(final_hidden(ids, kept));
}

TokenLoss GptImpl::next_token_loss(const torch::Tensor& ids, const torch::Tensor& labels, const torch::Tensor& kept) {
  const auto hidden = final_hidden(ids, kept).slice(1, 0, -1);         // [B, T-1, D]
  const auto targets = (labels.defined() ? labels : ids).slice(1, 1);  // [B, T-1]
  return token_loss(hidden.flatten(0, 1), output_matrix(), config_.vocab_size, targets.flatten());
}

}  // namespace skipless
