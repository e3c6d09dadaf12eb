// The feed-forward's nonlinearity on a device as one operation, forward and backward
// (kernels/device/activation_body.h).
#pragma once

#include "models/activation.h"

namespace skipless {

/// activate() of x that has_device_element() (device_kernels.h).
at::Tensor fused_activation(Activation activation, double leaky_slope, const at::Tensor& x);

}  // namespace skipless
