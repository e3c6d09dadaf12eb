#include "models/activation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/relu.h>
#include <c10/util/Exception.h>

#include <array>

#include "models/device_kernels.h"
#include "models/fused_activation.h"

namespace skipless {

std::span<const EnumName<Activation>> enum_names(Activation) {
  static constexpr std::array<EnumName<Activation>, 5> kNames{{{Activation::relu, "relu"},
                                                               {Activation::leaky_relu, "leaky_relu"},
                                                               {Activation::gelu, "gelu"},
                                                               {Activation::gelu_tanh, "gelu_tanh"},
                                                               {Activation::geglu, "geglu"}}};
  return kNames;
}

at::Tensor activate(Activation activation, double leaky_slope, const at::Tensor& x) {
  if (has_device_element(x)) return fused_activation(activation, leaky_slope, x);
  switch (activation) {
    case Activation::relu:
      return at::relu(x);
    case Activation::leaky_relu:
      return at::leaky_relu(x, leaky_slope);
    case Activation::gelu:
      return at::gelu(x);
    case Activation::gelu_tanh:
      return at::gelu(x, "tanh");
    case Activation::geglu: {
      const auto halves = x.chunk(2, -1);
      return halves[0] * at::gelu(halves[1]);
    }
  }
  TORCH_CHECK(false, "an activation outside the enum");
}

}  // namespace skipless
