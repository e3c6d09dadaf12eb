// The variants' configs seen as one list of parts, for formats that describe every block by the same list of settings.
#pragma once

#include <string>

#include "models/attention.h"
#include "models/gain.h"
#include "models/model_config.h"

namespace skipless {

/// Null: the variant has no such gain.
struct BlockParts {
  AttentionConfig* attention = nullptr;
  GainConfig* alpha_sa = nullptr;
  GainConfig* beta_sa = nullptr;
  GainConfig* alpha_ff = nullptr;
  GainConfig* beta_ff = nullptr;
  GainConfig* alpha_comb = nullptr;
  /// One norm, `norm`, which both branches read; else `norm_1` and `norm_2`.
  bool parallel = false;
};

/// The parts of `config.block`, inside `config`; UserError if it is none of the paper's variants.
BlockParts block_parts(ModelConfig& config);

}  // namespace skipless
