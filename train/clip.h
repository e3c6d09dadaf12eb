// Scaling and clipping of gradients, without reading anything back to the host.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace skipless {

/// Multiplies every gradient g by scale * min(1, max_norm / (N + 1e-6)), where N = |scale| * sqrt(sum g^2) is the
/// global norm of the scaled gradients, and returns N. `scale`: a scalar tensor; max_norm 0: no clipping.
at::Tensor scale_and_clip(const std::vector<at::Tensor>& gradients, const at::Tensor& scale, double max_norm);

/// The same factor min(1, max_norm / (N + 1e-6)) once more, for what is told of gradients before they were clipped.
at::Tensor clip_factor(const at::Tensor& norm, double max_norm);

}  // namespace skipless
