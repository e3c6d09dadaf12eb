// The model that a config describes.
#pragma once

#include "models/transformer.h"

namespace skipless {

/// Of config.kind, on the CPU, its values drawn from LibTorch's default generator.
Transformer make_model(const ModelConfig& config);

}  // namespace skipless
