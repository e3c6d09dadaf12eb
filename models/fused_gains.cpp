#include "models/fused_gains.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/kernel_rows.h"
#include "models/kernels/gained_sum_kernel.h"
#include "models/parallel.h"

namespace skipless {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::GainedSum gained_sum_of(const at::Tensor& a, const at::Tensor& x, const at::Tensor& b, const at::Tensor& y) {
  const auto value = [](const at::Tensor& gain) { return gain.defined() ? *gain.const_data_ptr<float>() : 0; };
  return {.width = y.size(-1), .a = value(a), .b = value(b), .x = kernel_rows(x), .y = kernel_rows(y)};
}

class FusedGainedSum : public torch::autograd::Function<FusedGainedSum> {
 public:
  /// The order of arguments is that of the gradients. a and x: both or neither.
  static at::Tensor forward(AutogradContext* context, const std::optional<at::Tensor>& of_a,
                            const std::optional<at::Tensor>& of_x, const at::Tensor& b, const at::Tensor& of_y) {
    RECORD_USER_SCOPE("fused_gained_sum");
    const at::Tensor a = of_a.value_or(at::Tensor()), x = of_x ? of_x->contiguous() : at::Tensor();
    const auto y = of_y.contiguous();
    const auto out = at::empty(y.sizes(), y.options().dtype(at::kFloat));
    const bool on_device = has_device_element(y);
    if (on_device) {
      const DeviceRun run(y);
      run->gained_sum_forward(y.numel() / y.size(-1), y.size(-1), float_data(a), kernel_rows(x), float_data(b),
                              kernel_rows(y), float_data(out), run.stream());
    } else {
      const auto sum = gained_sum_of(a, x, b, y);
      const auto out_rows = kernel_rows(out);
      parallel_parts(y.numel() / sum.width, rows_per_thread(sum.width),
                     [&](int64_t first, int64_t last) { kernels::gained_sum_forward(sum, first, last, out_rows); });
    }
    context->save_for_backward({a, x, b, y});
    context->saved_data["on_device"] = on_device;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto &a = saved[0], &x = saved[1], &b = saved[2], &y = saved[3];
    const auto grad_out = gradients[0].contiguous();
    const auto grad_x = x.defined() ? at::empty_like(x) : at::Tensor();
    const auto grad_y = at::empty_like(y);
    const auto out_rows = kernel_rows(grad_out), x_rows = kernel_rows(grad_x), y_rows = kernel_rows(grad_y);
    const int64_t width = y.size(-1), rows = y.numel() / width;
    at::Tensor of_gains;  // [2, parts], a part's rows being those of a thread, or a single one
    if (context->saved_data["on_device"].toBool()) {
      of_gains = at::empty({2, rows}, grad_out.options());
      const DeviceRun run(y);
      run->gained_sum_backward(rows, width, float_data(a), kernel_rows(x), float_data(b), kernel_rows(y),
                               float_data(grad_out), x_rows, y_rows, float_data(of_gains[0]), float_data(of_gains[1]),
                               run.stream());
    } else {
      const auto sum = gained_sum_of(a, x, b, y);
      of_gains = at::zeros({2, at::get_num_threads()}, at::kDouble);
      parallel_parts(rows, rows_per_thread(width), [&](int64_t first, int64_t last) {
        const auto of_rows = kernels::gained_sum_backward(sum, first, last, out_rows, x_rows, y_rows);
        double* const of_thread = of_gains.mutable_data_ptr<double>() + at::get_thread_num();
        of_thread[0] += of_rows.a;
        of_thread[at::get_num_threads()] += of_rows.b;
      });
    }
    const auto of_gain = [&](int64_t which, const at::Tensor& gain) {
      return gain.defined() ? of_gains[which].sum(at::kDouble).to(gain.scalar_type()).view(gain.sizes()) : at::Tensor();
    };
    return {of_gain(0, a), grad_x, of_gain(1, b), grad_y};
  }
};

}  // namespace

at::Tensor fused_gained_sum(const at::Tensor& a, const at::Tensor& x, const at::Tensor& b, const at::Tensor& y) {
  TORCH_CHECK(!x.defined() || x.sizes() == y.sizes(), "branches of one shape");
  const auto optional = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional(tensor) : std::nullopt;
  };
  return FusedGainedSum::apply(optional(x.defined() ? a : x), optional(x), b, y);
}

}  // namespace skipless
