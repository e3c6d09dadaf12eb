#include "models/attention_cache.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

namespace skipless {

void AttentionCache::append(const at::Tensor& keys, const at::Tensor& values) {
  TORCH_CHECK(!c10::GradMode::is_enabled(), "a cache of keys and values has no gradients");
  const int64_t t = keys.size(-2);
  TORCH_CHECK(t <= capacity_ - length_, "a cache for ", capacity_, " tokens holds ", length_, " and has no room for ",
              t);
  if (!keys_.defined()) {
    keys_ = at::empty({keys.size(0), keys.size(1), capacity_, keys.size(3)}, keys.options());
    values_ = at::empty_like(keys_);
  }
  keys_.slice(-2, length_, length_ + t).copy_(keys);
  values_.slice(-2, length_, length_ + t).copy_(values);
  length_ += t;
}

at::Tensor AttentionCache::running_mean(const at::Tensor& values) {
  auto sums = at::cumsum(values, -2);
  if (values_sum_.defined()) sums += values_sum_;
  const int64_t t = values.size(-2);
  values_sum_ = sums.slice(-2, t - 1).clone();
  return sums / at::arange(length_ - t + 1, length_ + 1, values.options()).unsqueeze(-1);
}

}  // namespace skipless
