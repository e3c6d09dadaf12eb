#include "models/fused_attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "models/kernel_rows.h"
#include "models/kernels/shaped_attention_bf16_kernel.h"
#include "models/kernels/shaped_attention_kernel.h"
#include "models/pair_product.h"
#include "models/parallel.h"
#include "models/shaped_attention.h"

namespace skipless {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// [B, H, T, dh] that lies in memory as [B, T, H, dh].
at::Tensor empty_heads(at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty({sizes[0], sizes[2], sizes[1], sizes[3]}, type).transpose(1, 2);
}

/// x itself where the values of a row lie side by side, or a copy.
at::Tensor with_rows(const at::Tensor& x) {
  return x.size(-1) == 1 || x.stride(-1) == 1 ? x : empty_heads(x.sizes(), x.scalar_type()).copy_(x);
}

/// Head h of sequence b of x [B, H, T, dh].
kernels::Rows rows_of(const at::Tensor& x, int64_t b, int64_t h) {
  return kernel_rows(x, b * x.stride(0) + h * x.stride(1), x.stride(2));
}

/// What every head of a call shares, on either way.
struct Call {
  at::Tensor q, k, v;
  at::Tensor alpha, beta, gamma;
  at::Tensor kept;  // [B, T] bool, contiguous, or undefined
  bool causal;
  bool centre_over_all;
  double dropout;
  int64_t seed;

  int64_t n_head() const { return q.size(1); }

  kernels::HeadShape shape(int64_t b, int64_t h) const {
    return {.length = q.size(2),
            .head_size = q.size(3),
            .causal = causal,
            .kept = kept.defined() ? kept.const_data_ptr<bool>() + b * kept.size(1) : nullptr,
            .centre_over_all = centre_over_all,
            .dropout = dropout,
            .seed = static_cast<uint64_t>(seed) + static_cast<uint64_t>(b * n_head() + h)};
  }
  kernels::HeadGains gains(int64_t h) const {
    const auto of = [&](const at::Tensor& gain) { return gain.const_data_ptr<float>()[gain.numel() == 1 ? 0 : h]; };
    return {.alpha = of(alpha), .beta = of(beta), .gamma = of(gamma)};
  }
  /// Whether the factors are multiplied as bfloat16.
  bool multiplies_pairs(const kernels::Rows& q_rows, const kernels::Rows& k_rows, const kernels::Rows& v_rows) const {
    const auto fits = [&](const kernels::Rows& rows) { return kernels::has_pairs(rows, q.size(3)); };
    return pair_product() != nullptr && fits(q_rows) && fits(k_rows) && fits(v_rows);
  }
  /// visit(sequence, head) for all of them, on all threads.
  template <class Visit>
  void for_heads(const Visit& visit) const {
    parallel_parts(q.size(0) * n_head(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) visit(i / n_head(), i % n_head());
    });
  }
};

/// [B, H] sums of every head to the shape of the gain.
at::Tensor gain_gradient(const at::Tensor& sums, const at::Tensor& gain) {
  const auto heads = sums.sum(0);
  return (gain.numel() == 1 ? heads.sum() : heads).to(gain.scalar_type()).view(gain.sizes());
}

class FusedAttention : public torch::autograd::Function<FusedAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& alpha, const at::Tensor& beta, const at::Tensor& gamma,
                            const AttentionMask& mask, double dropout, int64_t seed) {
    RECORD_USER_SCOPE("fused_attention");
    const Call call{.q = with_rows(q),
                    .k = with_rows(k),
                    .v = with_rows(v),
                    .alpha = alpha,
                    .beta = beta,
                    .gamma = gamma,
                    .kept = mask.kept.defined() ? mask.kept.contiguous() : mask.kept,
                    .causal = mask.causal,
                    .centre_over_all = mask.centre_over_all,
                    .dropout = dropout,
                    .seed = seed};
    const auto out = empty_heads(q.sizes(), v.scalar_type());
    const auto log_sum = at::empty({q.size(0), q.size(1), q.size(2)}, at::kFloat);  // [B, H, T]
    auto* const sums = log_sum.mutable_data_ptr<float>();
    call.for_heads([&](int64_t b, int64_t h) {
      float* const of_head = sums + (b * call.n_head() + h) * q.size(2);
      const auto q_rows = rows_of(call.q, b, h), k_rows = rows_of(call.k, b, h), v_rows = rows_of(call.v, b, h);
      if (call.multiplies_pairs(q_rows, k_rows, v_rows)) {
        kernels::shaped_attention_forward_bf16(pair_product(), call.shape(b, h), call.gains(h), q_rows, k_rows, v_rows,
                                               rows_of(out, b, h), of_head);
      } else {
        kernels::shaped_attention_forward(call.shape(b, h), call.gains(h), q_rows, k_rows, v_rows, rows_of(out, b, h),
                                          of_head);
      }
    });
    context->save_for_backward({call.q, call.k, call.v, alpha, beta, gamma, call.kept, log_sum});
    context->saved_data["causal"] = mask.causal;
    context->saved_data["centre_over_all"] = mask.centre_over_all;
    context->saved_data["dropout"] = dropout;
    context->saved_data["seed"] = seed;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Call call{.q = saved[0],
                    .k = saved[1],
                    .v = saved[2],
                    .alpha = saved[3],
                    .beta = saved[4],
                    .gamma = saved[5],
                    .kept = saved[6],
                    .causal = context->saved_data["causal"].toBool(),
                    .centre_over_all = context->saved_data["centre_over_all"].toBool(),
                    .dropout = context->saved_data["dropout"].toDouble(),
                    .seed = context->saved_data["seed"].toInt()};
    const auto& log_sum = saved[7];
    const auto grad_out = with_rows(gradients[0]);
    const auto grad_q = empty_heads(call.q.sizes(), call.q.scalar_type());
    const auto grad_k = empty_heads(call.k.sizes(), call.k.scalar_type());
    const auto grad_v = empty_heads(call.v.sizes(), call.v.scalar_type());
    const auto of_gains = at::zeros({3, call.q.size(0), call.n_head()}, at::kDouble);
    auto sums = of_gains.accessor<double, 3>();
    call.for_heads([&](int64_t b, int64_t h) {
      const float* const log_sums = log_sum.const_data_ptr<float>() + (b * call.n_head() + h) * call.q.size(2);
      const auto q = rows_of(call.q, b, h), k = rows_of(call.k, b, h), v = rows_of(call.v, b, h);
      const auto of_out = rows_of(grad_out, b, h);
      const auto of_q = rows_of(grad_q, b, h), of_k = rows_of(grad_k, b, h), of_v = rows_of(grad_v, b, h);
      const auto of_head =
          call.multiplies_pairs(q, k, v) && kernels::has_pairs(of_out, call.q.size(3))
              ? kernels::shaped_attention_backward_bf16(pair_product(), call.shape(b, h), call.gains(h), q, k, v,
                                                        log_sums, of_out, of_q, of_k, of_v)
              : kernels::shaped_attention_backward(call.shape(b, h), call.gains(h), q, k, v, log_sums, of_out, of_q,
                                                   of_k, of_v);
      sums[0][b][h] = of_head.alpha;
      sums[1][b][h] = of_head.beta;
      sums[2][b][h] = of_head.gamma;
    });
    const Variable none;
    return {grad_q,
            grad_k,
            grad_v,
            gain_gradient(of_gains[0], call.alpha),
            gain_gradient(of_gains[1], call.beta),
            gain_gradient(of_gains[2], call.gamma),
            none,
            none,
            none};
  }
};

}  // namespace

bool can_fuse(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask) {
  return has_kernel_element(q) && has_kernel_element(k) && has_kernel_element(v) && mask.cache == nullptr;
}

at::Tensor fused_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const HeadGainTensors& gains,
                           const AttentionMask& mask, double dropout) {
  TORCH_CHECK(q.sizes() == k.sizes() && q.sizes() == v.sizes(), "as many queries as keys and values");
  return FusedAttention::apply(q, k, v, gains.alpha, gains.beta, gains.gamma, mask, dropout,
                               dropout > 0 ? at::empty({}, at::kLong).random_().item<int64_t>() : 0);
}

}  // namespace skipless
