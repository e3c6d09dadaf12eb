// How far our values may be from a case's.
#pragma once

namespace skipless::parity {

/// Float64, per tensor: 1e-10 of its own largest value; a gradient counts as at least a thousandth of the case's
/// largest, because what cancels to almost nothing carries the rounding of what it was made of.
inline constexpr double kFloat64 = 1e-10;
inline constexpr double kSmallestGradientScale = 1e-3;

/// Float32, against their float32. parity/README.md measured how far theirs is from their float64: logits 2e-6, matrix
/// gradients 1e-6 norm-wise; its advice for gains, whose terms cancel, is an absolute scale. In units of the case's
/// largest gradient, theirs are off by up to 8e-7 for gains and 6e-7 for norms and biases, and their losses by 6e-7.
/// Each bound is about four times what was measured: both sides round, and another processor sums in another order.
inline constexpr double kFloat32Logits = 8e-6;
inline constexpr double kFloat32Loss = 3e-6;
inline constexpr double kFloat32Matrix = 4e-6;
inline constexpr double kFloat32NormOrBias = 3e-6;
inline constexpr double kFloat32Gain = 3e-6;

}  // namespace skipless::parity
