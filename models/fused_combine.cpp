#include "models/fused_combine.h"

#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/kernel_rows.h"
#include "models/shaped_attention.h"

namespace skipless {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// [B, H, T, dh] that lies in memory as [B, T, H, dh].
at::Tensor empty_heads(const at::Tensor& like) {
  return at::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options()).transpose(1, 2);
}

/// x itself where the values of a head lie side by side, or a copy.
at::Tensor with_heads(const at::Tensor& x) {
  return x.size(-1) == 1 || x.stride(-1) == 1 ? x : empty_heads(x).copy_(x);
}

kernels::Heads heads_of(const at::Tensor& x) {
  return {.data = x.mutable_data_ptr(),
          .element = element_of(x),
          .sequence_stride = x.stride(0),
          .token_stride = x.stride(2),
          .head_stride = x.stride(1)};
}

/// What both ways share. `counts` [B, T] bool and `inverses` [B], or both undefined.
struct Combine {
  at::Tensor v, o, alpha, beta, gamma, counts, inverses;
  bool causal;

  kernels::CombineCall call() const {
    return {.sequences = v.size(0),
            .length = v.size(2),
            .heads = v.size(1),
            .head_size = v.size(3),
            .causal = causal,
            .centred = gamma.defined(),
            .counts = counts.defined() ? counts.const_data_ptr<bool>() : nullptr,
            .inverses = float_data(inverses),
            .alpha_stride = stride_of(alpha),
            .beta_stride = stride_of(beta),
            .gamma_stride = stride_of(gamma),
            .alpha = float_data(alpha),
            .beta = float_data(beta),
            .gamma = float_data(gamma)};
  }
  /// From one head's gain to the next.
  static int64_t stride_of(const at::Tensor& gain) { return gain.defined() && gain.numel() > 1 ? 1 : 0; }

  /// [n, B, chunks, H, dh] float32
  at::Tensor of_chunks(int64_t n) const {
    return at::empty({n, v.size(0), call().chunks(), v.size(1), v.size(3)}, v.options().dtype(at::kFloat));
  }
};

/// [B, chunks, H, dh] sums to the shape of the gain.
at::Tensor gain_gradient(const at::Tensor& sums, const at::Tensor& gain) {
  if (!gain.defined()) return {};
  const auto heads = sums.sum({0, 1, 3}, /*keepdim=*/false, at::kDouble);  // [H]
  return (gain.numel() == 1 ? heads.sum() : heads).to(gain.scalar_type()).view(gain.sizes());
}

class FusedCombine : public torch::autograd::Function<FusedCombine> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& v, const at::Tensor& o, const at::Tensor& alpha,
                            const at::Tensor& beta, const std::optional<at::Tensor>& gamma, const AttentionMask& mask) {
    RECORD_USER_SCOPE("fused_combine");
    Combine combine{.v = with_heads(v),
                    .o = with_heads(o),
                    .alpha = alpha,
                    .beta = beta,
                    .gamma = gamma.value_or(at::Tensor()),
                    .counts = {},
                    .inverses = {},
                    .causal = mask.causal};
    if (!mask.causal && mask.kept.defined() && !mask.centre_over_all) {
      combine.counts = mask.kept.contiguous();
      combine.inverses = combine.counts.sum(-1).clamp_min(1).to(at::kFloat).reciprocal();
    }
    const auto out = empty_heads(v);
    const auto sums = combine.gamma.defined() ? combine.of_chunks(1) : at::Tensor();
    const DeviceRun run(v);
    run->combine_forward(combine.call(), heads_of(combine.v), heads_of(combine.o), heads_of(out), float_data(sums),
                         run.stream());
    context->save_for_backward({combine.v, combine.o, alpha, beta, combine.gamma, combine.counts, combine.inverses});
    context->saved_data["causal"] = mask.causal;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Combine combine{.v = saved[0],
                          .o = saved[1],
                          .alpha = saved[2],
                          .beta = saved[3],
                          .gamma = saved[4],
                          .counts = saved[5],
                          .inverses = saved[6],
                          .causal = context->saved_data["causal"].toBool()};
    const auto grad_out = with_heads(gradients[0]);
    const auto grad_v = empty_heads(combine.v), grad_o = empty_heads(combine.o);
    const auto of_gains = combine.of_chunks(3);
    const auto sums = combine.gamma.defined() ? combine.of_chunks(2) : at::Tensor();
    const DeviceRun run(combine.v);
    run->combine_backward(combine.call(), heads_of(combine.v), heads_of(combine.o), heads_of(grad_out),
                          heads_of(grad_v), heads_of(grad_o), float_data(sums), float_data(of_gains), run.stream());
    return {grad_v,
            grad_o,
            gain_gradient(of_gains[0], combine.alpha),
            gain_gradient(of_gains[1], combine.beta),
            gain_gradient(of_gains[2], combine.gamma),
            at::Tensor()};
  }
};

}  // namespace

bool can_combine(const at::Tensor& v, const at::Tensor& o, const HeadGainTensors& gains, const AttentionMask& mask) {
  return has_device_element(v) && has_device_element(o) && v.sizes() == o.sizes() &&
         gains.alpha.scalar_type() == at::kFloat && mask.cache == nullptr;
}

at::Tensor fused_combine(const at::Tensor& v, const at::Tensor& o, const HeadGainTensors& gains,
                         const AttentionMask& mask) {
  return FusedCombine::apply(v, o, gains.alpha, gains.beta,
                             gains.gamma.defined() ? std::optional(gains.gamma) : std::nullopt, mask);
}

}  // namespace skipless
