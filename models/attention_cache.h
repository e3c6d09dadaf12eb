// What one layer's attention remembers of the tokens that it has seen, so that the next ones need not repeat them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace skipless {

/// Keys and values [B, H, S, dh] of S tokens, in memory for `capacity` of them that the first append() takes, and the
/// sum of the values over positions, from which the centring term's running mean goes on. In SAS and SAS-P the values
/// are the normalised input itself. Nothing in it has a gradient.
class AttentionCache {
 public:
  explicit AttentionCache(int64_t capacity) : capacity_(capacity) {}

  /// S: how many tokens it holds.
  int64_t length() const { return length_; }
  int64_t capacity() const { return capacity_; }

  /// Adds the keys and values [B, H, T, dh] of the next T tokens; T at most capacity() - length(), and B the same each
  /// time.
  void append(const at::Tensor& keys, const at::Tensor& values);
  /// [B, H, S, dh], views.
  at::Tensor keys() const { return keys_.slice(-2, 0, length_); }
  at::Tensor values() const { return values_.slice(-2, 0, length_); }

  /// mean_C of the T newest tokens, [B, H, T, dh]: row i of them is the mean of all values up to it. To be called once
  /// after each append(), with the same values.
  at::Tensor running_mean(const at::Tensor& values);

 private:
  int64_t capacity_;
  int64_t length_ = 0;
  at::Tensor keys_;        // [B, H, capacity, dh]
  at::Tensor values_;      // the same
  at::Tensor values_sum_;  // [B, H, 1, dh], of all tokens that running_mean() was told of; undefined: none yet
};

}  // namespace skipless
