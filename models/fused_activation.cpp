#include "models/fused_activation.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/kernel_rows.h"

namespace skipless {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::ActivationKind kind_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return kernels::ActivationKind::relu;
    case Activation::leaky_relu:
      return kernels::ActivationKind::leaky_relu;
    case Activation::gelu:
      return kernels::ActivationKind::gelu;
    case Activation::gelu_tanh:
      return kernels::ActivationKind::gelu_tanh;
    case Activation::geglu:
      return kernels::ActivationKind::geglu;
  }
  TORCH_CHECK(false, "an activation outside the enum");
}

/// `x`: the input.
kernels::ActivationShape shape_of(kernels::ActivationKind kind, double leaky_slope, const at::Tensor& x) {
  const bool is_gated = kind == kernels::ActivationKind::geglu;
  return {
      .kind = kind, .leaky_slope = static_cast<float>(leaky_slope), .width = is_gated ? x.size(-1) / 2 : x.size(-1)};
}

class FusedActivation : public torch::autograd::Function<FusedActivation> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, kernels::ActivationKind kind,
                            double leaky_slope) {
    RECORD_USER_SCOPE("fused_activation");
    const auto x = input.contiguous();
    const auto shape = shape_of(kind, leaky_slope, x);
    auto sizes = x.sizes().vec();
    sizes.back() = shape.width;
    const auto y = at::empty(sizes, x.options());
    const DeviceRun run(x);
    run->activation_forward(shape, x.numel() / x.size(-1), kernel_rows(x), kernel_rows(y), run.stream());
    context->save_for_backward({x});
    context->saved_data["kind"] = static_cast<int64_t>(kind);
    context->saved_data["leaky_slope"] = leaky_slope;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto x = context->get_saved_variables()[0];
    const auto kind = static_cast<kernels::ActivationKind>(context->saved_data["kind"].toInt());
    const auto grad_y = gradients[0].contiguous();
    const auto grad_x = at::empty_like(x);
    const DeviceRun run(x);
    run->activation_backward(shape_of(kind, context->saved_data["leaky_slope"].toDouble(), x), x.numel() / x.size(-1),
                             kernel_rows(x), kernel_rows(grad_y), kernel_rows(grad_x), run.stream());
    return {grad_x, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor fused_activation(Activation activation, double leaky_slope, const at::Tensor& x) {
  TORCH_CHECK(activation != Activation::geglu || x.size(-1) % 2 == 0, "as many gates as values");
  return FusedActivation::apply(x, kind_of(activation), leaky_slope);
}

}  // namespace skipless
