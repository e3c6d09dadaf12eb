// How far a matrix has come from another.
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// m [.., R, C], start [R, C] -> [..]: ||M - start||_F / ||start||_F.
at::Tensor relative_distance(const at::Tensor& m, const at::Tensor& start);

}  // namespace skipless
