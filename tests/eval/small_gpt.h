// A tiny float64 model for tokens of one byte each, and the tokenizer with a few more.
#pragma once

#include <ATen/ops/randn_like.h>
#include <torch/utils.h>

#include <string>

#include "models/gpt.h"

namespace skipless::test {

/// Random weights, so that each token matters.
inline Gpt byte_gpt(int64_t context_length, int64_t n_positions, const std::string& block = "sas",
                    int64_t vocab_size = 262) {
  ModelConfig config;
  config.block = block;
  config.n_layer = 2;
  config.d_model = 12;
  config.n_head = 3;
  config.d_ff = 16;
  config.vocab_size = vocab_size;
  config.vocab_multiple = 64;
  config.context_length = context_length;
  config.n_positions = n_positions;
  config.resolve();
  torch::manual_seed(3);
  Gpt gpt(config);
  gpt->to(at::kDouble);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : gpt->parameters()) parameter.add_(at::randn_like(parameter), 0.3);
  gpt->eval();
  return gpt;
}

}  // namespace skipless::test
