// What CUDA cards can do at most, for model FLOPs utilisation.
#pragma once

#include <optional>
#include <string_view>

namespace skipless {

/// Floating-point operations per second of the card's dense matrix products with results added up in float32, at its
/// boost clock; `card` is the driver's name for it, `precision` fp32 (without TF32, as LibTorch computes), fp16 or
/// bf16. Nothing for a card that is not in the table, or that has no unit for the precision.
std::optional<double> peak_flops(std::string_view card, std::string_view precision);

}  // namespace skipless
