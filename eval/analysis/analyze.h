// What a model does to given sequences, layer by layer: gains, attention matrices, representations.
#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json_fwd.hpp>

#include "models/transformer.h"

namespace skipless {

/// ids [B, T] -> {"states": [...], "layers": [...]}, as docs/analysis.md lists it. `model` is in float64 and on the
/// CPU; it is put into evaluation mode for the time of the call, and otherwise left as it is. For each layer the T x T
/// matrices of all B sequences and H heads stand in memory: about 50 * B * H * T^2 bytes. RunError where a block's
/// output is not finite.
nlohmann::ordered_json analyze(TransformerImpl& model, const at::Tensor& ids);

}  // namespace skipless
