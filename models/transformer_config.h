// The settings that every block shares: sizes, norms, activation, biases.
#pragma once

#include <cstdint>
#include <optional>

#include "configs/schema.h"
#include "models/activation.h"
#include "models/dropout.h"
#include "models/identity_start.h"
#include "models/norm.h"
#include "models/weight_init.h"

namespace skipless {

/// Which linear maps have a bias. The authors' blocks: query and key alone. GPT-2: all.
struct BiasConfig {
  bool query_key = true;
  bool value = false;
  bool projection = false;
  bool feed_forward = false;

  void keys(Schema& s);
};

struct TransformerConfig {
  int64_t n_layer = 12;
  int64_t d_model = 768;
  int64_t n_head = 12;
  std::optional<int64_t> d_ff;  // default 4 * d_model
  NormKind norm = NormKind::rms_norm;
  double norm_eps = 1e-5;
  Activation activation = Activation::relu;
  double leaky_slope = 0.01;  // of leaky_relu
  BiasConfig bias;
  bool qk_norm = false;  // RMSNorm of every query and key, per head
  double soft_cap = 0;   // c: attention logits S become c*tanh(S/c); 0: off
  double init_std = 0.02;
  InitConfigs init;
  DropoutConfig dropout;
  IdentityStartConfig identity_start;

  int64_t head_size() const { return d_model / n_head; }

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems) const;
};

}  // namespace skipless
