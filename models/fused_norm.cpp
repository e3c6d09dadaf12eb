#include "models/fused_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/kernel_rows.h"
#include "models/kernels/norm_kernel.h"
#include "models/parallel.h"

namespace skipless {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::NormShape shape_of(const FusedNormConfig& config, const at::Tensor& x) {
  return {.width = x.size(-1), .eps = static_cast<float>(config.eps), .is_layer_norm = config.is_layer_norm};
}

class FusedNorm : public torch::autograd::Function<FusedNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& scale,
                            const std::optional<at::Tensor>& of_shift, const FusedNormConfig& config) {
    RECORD_USER_SCOPE("fused_norm");
    const auto x = input.contiguous();
    const at::Tensor shift = of_shift.value_or(at::Tensor());
    const auto shape = shape_of(config, x);
    const int64_t rows = x.numel() / shape.width;
    const auto y = at::empty(x.sizes(), x.options().dtype(config.result));
    const auto mean = config.is_layer_norm ? at::empty({rows}, scale.options()) : at::Tensor();
    const auto inverse = at::empty({rows}, scale.options());
    const auto x_rows = kernel_rows(x), y_rows = kernel_rows(y);
    const bool on_device = has_device_element(x);
    if (on_device) {
      const DeviceRun run(x);
      run->norm_forward(shape, rows, x_rows, float_data(scale), float_data(shift), y_rows, float_data(mean),
                        float_data(inverse), run.stream());
    } else {
      parallel_parts(rows, rows_per_thread(shape.width), [&](int64_t first, int64_t last) {
        kernels::norm_forward(shape, first, last, x_rows, float_data(scale), float_data(shift), y_rows,
                              float_data(mean), float_data(inverse));
      });
    }
    context->save_for_backward({x, scale, mean, inverse});
    context->saved_data["on_device"] = on_device;
    context->saved_data["eps"] = config.eps;
    context->saved_data["has_shift"] = shift.defined();
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &scale = saved[1], &mean = saved[2], &inverse = saved[3];
    const bool has_shift = context->saved_data["has_shift"].toBool();
    const FusedNormConfig config{.eps = context->saved_data["eps"].toDouble(),
                                 .is_layer_norm = mean.defined(),
                                 .result = gradients[0].scalar_type()};
    const auto shape = shape_of(config, x);
    const auto grad_y = gradients[0].contiguous();
    const auto grad_x = at::empty_like(x);
    const int64_t rows = inverse.numel();
    const auto x_rows = kernel_rows(x), grad_y_rows = kernel_rows(grad_y), grad_x_rows = kernel_rows(grad_x);
    at::Tensor sums;  // [2, parts, d], a part's rows being those of a thread or of kNormPartRows
    if (context->saved_data["on_device"].toBool()) {
      const int64_t parts = (rows + kernels::kNormPartRows - 1) / kernels::kNormPartRows;
      sums = at::empty({has_shift ? 2 : 1, parts, shape.width}, scale.options());
      const DeviceRun run(x);
      run->norm_backward(shape, rows, x_rows, float_data(scale), float_data(mean), float_data(inverse), grad_y_rows,
                         grad_x_rows, float_data(sums[0]), has_shift ? float_data(sums[1]) : nullptr, run.stream());
    } else {
      sums = at::zeros({2, at::get_num_threads(), shape.width}, at::kDouble);
      parallel_parts(rows, rows_per_thread(shape.width), [&](int64_t first, int64_t last) {
        double* const of_scale = sums.mutable_data_ptr<double>() + at::get_thread_num() * shape.width;
        double* const of_shift = of_scale + at::get_num_threads() * shape.width;
        kernels::norm_backward(shape, first, last, x_rows, float_data(scale), float_data(mean), float_data(inverse),
                               grad_y_rows, grad_x_rows, of_scale, has_shift ? of_shift : nullptr);
      });
    }
    const auto of_parameters = sums.sum(1).to(scale.scalar_type());  // [2, d], or [1, d] without a shift
    return {grad_x, of_parameters[0], has_shift ? of_parameters[1] : at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor fused_norm(const FusedNormConfig& config, const at::Tensor& x, const at::Tensor& scale,
                      const at::Tensor& shift) {
  return FusedNorm::apply(x, scale, shift.defined() ? std::optional(shift) : std::nullopt, config);
}

}  // namespace skipless
