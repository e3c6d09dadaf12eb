#include "train/accumulation.h"

#include <ATen/TensorOperators.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>

namespace skipless {

TokenLoss accumulate_gradients(const std::vector<at::Tensor>& parameters, int64_t n_micro_batches,
                               const std::function<TokenLoss(int64_t)>& micro_batch, const at::Tensor& factor) {
  TORCH_CHECK(n_micro_batches > 0, "a step needs at least one micro-batch");
  for (const auto& parameter : parameters) parameter.mutable_grad().reset();
  TokenLoss total;
  for (int64_t i = 0; i < n_micro_batches; ++i) {
    const TokenLoss loss = micro_batch(i);
    {
      RECORD_USER_SCOPE("backward");
      loss.sum.backward(factor);
    }
    const auto sum = loss.sum.detach();
    total.sum = total.sum.defined() ? total.sum + sum : sum;
    total.count = total.count.defined() ? total.count + loss.count : loss.count;
  }
  return total;
}

std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

}  // namespace skipless
