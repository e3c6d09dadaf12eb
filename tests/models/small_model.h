// Tiny models with every parameter randomised: at their initial state too many gradients and terms are exactly zero for
// a test to see a mistake.
#pragma once

#include <ATen/ops/randint.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <string>

#include "models/gpt.h"
#include "models/make_model.h"

namespace skipless::test {

inline ModelConfig small_config(const std::string& block, NormKind norm = NormKind::rms_norm) {
  ModelConfig config;
  config.block = block;
  config.norm = norm;
  config.n_layer = 2;
  config.d_model = 12;
  config.n_head = 3;
  config.d_ff = 20;
  config.vocab_size = 17;
  config.context_length = 7;
  return config;
}

inline ModelConfig resolved(ModelConfig config) {
  config.resolve();
  return config;
}

/// Adds noise to every parameter in place.
inline void randomise(torch::nn::Module& module, double std = 0.3) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : module.parameters()) parameter.add_(torch::randn_like(parameter), std);
}

/// A float64 model from a seed, randomised.
inline Gpt random_gpt(const ModelConfig& config, uint64_t seed = 1) {
  torch::manual_seed(seed);
  Gpt gpt(config);
  gpt->to(torch::kFloat64);
  randomise(*gpt);
  return gpt;
}

/// The same of either kind.
inline Transformer random_model(const ModelConfig& config, uint64_t seed = 1) {
  torch::manual_seed(seed);
  auto model = make_model(config);
  model->to(torch::kFloat64);
  randomise(*model);
  return model;
}

inline torch::Tensor random_ids(const ModelConfig& config, int64_t batch = 3) {
  return at::randint(config.vocab_size, {batch, config.context_length}, torch::kInt64);
}

/// Something to predict: the next tokens, or those that stood where token 0 is now.
inline Batch random_batch(const ModelConfig& config, int64_t sequences = 3) {
  const auto ids = random_ids(config, sequences);
  if (config.kind == ModelKind::gpt) return {.ids = ids};
  Batch batch{.ids = ids.clone(), .labels = torch::full_like(ids, kIgnoredTarget)};
  for (int64_t t = 1; t < config.context_length; t += 3) {
    batch.labels.select(1, t).copy_(ids.select(1, t));
    batch.ids.select(1, t).zero_();
  }
  return batch;
}

}  // namespace skipless::test
