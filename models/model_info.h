// What a config costs, by formula and without making a tensor: parameters per part, FLOPs per token, memory of a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model_config.h"

namespace skipless {

struct PartSize {
  std::string part;
  int64_t parameters = 0;  // trained
};

/// Embeddings, then attention, feed-forward, norms and gains summed over the blocks, final norm, and what the head has
/// of its own.
std::vector<PartSize> parameter_table(const ModelConfig& config);

/// Trained parameters in all.
int64_t n_parameters(const ModelConfig& config);

/// Floating-point operations of one token: 2 per parameter of a matrix that the token is multiplied with (the head
/// included, the embedding lookup not), and 4*d per visible key for Q K^T and A V, of which a causal token at position
/// t sees t + 1: (T + 1) / 2 on average, and an encoder's all T. The head runs on the share `predicted` of the tokens:
/// 1, or the masked ones. Training costs three times the forward pass. Element-wise work is not counted.
struct FlopsPerToken {
  double forward = 0;
  double training = 0;
};
FlopsPerToken flops_per_token(const ModelConfig& config, double predicted = 1);

/// Bytes of a training step in fp32.
struct MemoryEstimate {
  double weights = 0;      // 4 bytes a parameter
  double gradients = 0;    // 4
  double optimizer = 0;    // 8: two moments of AdamW
  double activations = 0;  // what the blocks keep for the backward pass, for one micro-batch
  double logits = 0;       // a chunk of logits, twice, and the new gradient of the output matrix (token_loss.h)
  double total() const { return weights + gradients + optimizer + activations + logits; }
};
/// `sequences`: of one micro-batch. `recompute`: train.recompute, with which one block at a time keeps more than its
/// input. An estimate: it counts the tensors that each operation saves, and neither the allocator's slack nor the
/// libraries' own buffers.
MemoryEstimate training_memory(const ModelConfig& config, int64_t sequences, bool recompute = false);

}  // namespace skipless
