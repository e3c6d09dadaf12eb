// Four neighbouring values of a row at once, read and written in one piece where they lie so, and loops over them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "models/kernels/device/lanes.h"

namespace skipless::kernels {

constexpr int kPack = 4;

/// N values in float32, whatever they are in memory.
template <int N>
struct Values {
  float of[N];

  Values() = default;
  SKIPLESS_DEVICE Values(float x) {
    for (int k = 0; k < N; ++k) of[k] = x;
  }
  /// f of each.
  template <class F>
  SKIPLESS_DEVICE Values map(const F& f) const {
    Values result;
    for (int k = 0; k < N; ++k) result.of[k] = f(of[k]);
    return result;
  }
  SKIPLESS_DEVICE float sum() const {
    float result = of[0];
    for (int k = 1; k < N; ++k) result += of[k];
    return result;
  }
  friend SKIPLESS_DEVICE Values operator+(Values a, const Values& b) {
    for (int k = 0; k < N; ++k) a.of[k] += b.of[k];
    return a;
  }
  friend SKIPLESS_DEVICE Values operator-(Values a, const Values& b) {
    for (int k = 0; k < N; ++k) a.of[k] -= b.of[k];
    return a;
  }
  friend SKIPLESS_DEVICE Values operator*(Values a, const Values& b) {
    for (int k = 0; k < N; ++k) a.of[k] *= b.of[k];
    return a;
  }
};

template <int N>
using Count = std::integral_constant<int, N>;

template <class T, int N>
struct alignas(N * sizeof(T)) Pack {
  T of[N];
};

/// The N values from x on, which for N > 1 lie on a multiple of their size.
template <int N, class T>
SKIPLESS_DEVICE Values<N> load(Count<N>, const T* x) {
  const auto pack = *reinterpret_cast<const Pack<T, N>*>(x);
  Values<N> values;
  for (int k = 0; k < N; ++k) values.of[k] = static_cast<float>(pack.of[k]);
  return values;
}

template <int N, class T>
SKIPLESS_DEVICE void store(Count<N>, const Values<N>& values, T* x) {
  Pack<T, N> pack;
  for (int k = 0; k < N; ++k) pack.of[k] = static_cast<T>(values.of[k]);
  *reinterpret_cast<Pack<T, N>*>(x) = pack;
}

/// Whether each of these (null: it is not there) begins on a multiple of a pack's size.
template <class... T>
SKIPLESS_DEVICE bool are_packed(const T*... x) {
  return ((reinterpret_cast<uintptr_t>(x) % (kPack * sizeof(T)) == 0) && ...);
}

/// visit(Count<N>(), j) for 0..n-1, spread over the lanes: whole packs from the start where they may be, then the
/// values that are left, one by one.
template <class Lanes, class Visit>
SKIPLESS_DEVICE void for_values(const Lanes& lanes, int64_t n, bool packed, const Visit& visit) {
  const int64_t of_packs = packed ? n / kPack * kPack : 0;
  for (int64_t j = lanes.lane() * int64_t{kPack}; j < of_packs; j += lanes.lanes() * int64_t{kPack}) {
    visit(Count<kPack>(), j);
  }
  for (int64_t j = of_packs + lanes.lane(); j < n; j += lanes.lanes()) visit(Count<1>(), j);
}

/// The sum of value(Count<N>(), j) over them, known to all lanes.
template <class Lanes, class Value>
SKIPLESS_DEVICE float sum_values(const Lanes& lanes, int64_t n, bool packed, const Value& value) {
  float sum = 0;
  for_values(lanes, n, packed, [&](auto count, int64_t j) { sum += value(count, j).sum(); });
  return lanes.sum(sum);
}

}  // namespace skipless::kernels
