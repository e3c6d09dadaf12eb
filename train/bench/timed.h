// How long a piece of work takes on a device.
#pragma once

#include <c10/core/Device.h>

#include <functional>

namespace skipless {

/// Milliseconds. On a CUDA device between two events in its stream, so that what the host does meanwhile counts only
/// where the device waits for it; then waits for the device.
double milliseconds_of(c10::Device device, const std::function<void()>& work);

}  // namespace skipless
