// The feed-forward's nonlinearity.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "configs/schema.h"

namespace skipless {

enum class Activation { relu, leaky_relu, gelu, gelu_tanh, geglu };
std::span<const EnumName<Activation>> enum_names(Activation);

/// relu: max(x, 0). leaky_relu: x for x >= 0, else slope*x. gelu: x*Phi(x) with erf. gelu_tanh: its tanh approximation
/// (GPT-2). geglu: [.., 2n] -> [.., n], first half * gelu(second half), as Cramming's GLU (PAPER.md, section 3).
at::Tensor activate(Activation activation, double leaky_slope, const at::Tensor& x);

}  // namespace skipless
