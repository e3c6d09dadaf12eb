// The activations of the feed-forward (models/activation.h), value and derivative, for one row.
#pragma once

#include <cmath>
#include <cstdint>

#include "models/kernels/device/values.h"

namespace skipless::kernels {

enum class ActivationKind { relu, leaky_relu, gelu, gelu_tanh, geglu };

struct ActivationShape {
  ActivationKind kind;
  float leaky_slope;
  int64_t width;  // of a row of the output; with geglu a row of the input is twice as wide, the gates behind the values
};

struct ValueAndSlope {
  float value, slope;
};

/// x Phi(x), Phi of the normal distribution.
SKIPLESS_DEVICE ValueAndSlope gelu(float x) {
  constexpr float kRootHalf = 0.70710678118654752F, kDensityAtZero = 0.39894228040143268F;  // 1/sqrt(2), 1/sqrt(2 pi)
  const float phi = 0.5F * std::erfc(-x * kRootHalf);
  return {x * phi, phi + x * kDensityAtZero * std::exp(-0.5F * x * x)};
}

/// 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3)
SKIPLESS_DEVICE ValueAndSlope gelu_tanh(float x) {
  constexpr float kRoot = 0.79788456080286536F, kCubic = 0.044715F;
  const float tanh_u = std::tanh(kRoot * (x + kCubic * x * x * x));
  const float slope_u = kRoot * (1 + 3 * kCubic * x * x);
  return {0.5F * x * (1 + tanh_u), 0.5F * (1 + tanh_u) + 0.5F * x * (1 - tanh_u * tanh_u) * slope_u};
}

/// act(x) and act'(x) of one value; of a gate, for geglu. NaN stays NaN.
SKIPLESS_DEVICE ValueAndSlope activated(const ActivationShape& shape, float x) {
  switch (shape.kind) {
    case ActivationKind::relu:
      return {x <= 0 ? 0 : x, x <= 0 ? 0.0F : 1.0F};
    case ActivationKind::leaky_relu:
      return {x > 0 ? x : shape.leaky_slope * x, x > 0 ? 1 : shape.leaky_slope};
    case ActivationKind::gelu_tanh:
      return gelu_tanh(x);
    default:
      return gelu(x);
  }
}

template <class Lanes, class T>
SKIPLESS_DEVICE void activation_row(const Lanes& lanes, const ActivationShape& shape, const T* x, T* y) {
  const T* const gates = shape.kind == ActivationKind::geglu ? x + shape.width : x;
  for_values(lanes, shape.width, are_packed(x, gates, y), [&](auto n, int64_t j) {
    const auto value = load(n, gates + j).map([&](float gate) { return activated(shape, gate).value; });
    store(n, gates == x ? value : load(n, x + j) * value, y + j);
  });
}

template <class Lanes, class T>
SKIPLESS_DEVICE void activation_backward_row(const Lanes& lanes, const ActivationShape& shape, const T* x,
                                             const T* grad_y, T* grad_x) {
  const int64_t of_gates = shape.kind == ActivationKind::geglu ? shape.width : 0;
  const T* const gates = x + of_gates;
  T* const grad_gates = grad_x + of_gates;
  for_values(lanes, shape.width, are_packed(x, gates, grad_y, grad_x, grad_gates), [&](auto n, int64_t j) {
    const auto g = load(n, grad_y + j), gate = load(n, gates + j);
    auto of_gate = g * gate.map([&](float x_j) { return activated(shape, x_j).slope; });
    if (gates != x) {
      of_gate = of_gate * load(n, x + j);
      store(n, g * gate.map([&](float x_j) { return activated(shape, x_j).value; }), grad_x + j);
    }
    store(n, of_gate, grad_gates + j);
  });
}

}  // namespace skipless::kernels
