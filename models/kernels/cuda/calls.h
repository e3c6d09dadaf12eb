// The calls of a CUDA device (kernels/device_calls.h). The tests compile the same sources for a CPU, as another place.
#pragma once

#include "models/kernels/device_calls.h"

#ifndef SKIPLESS_PLACE
#define SKIPLESS_PLACE cuda
#endif

namespace skipless::kernels::SKIPLESS_PLACE {

NormForward norm_forward;
NormBackward norm_backward;
CrossEntropy cross_entropy;
GainedSumForward gained_sum_forward;
GainedSumBackward gained_sum_backward;
CombineForward combine_forward;
CombineBackward combine_backward;
ActivationForward activation_forward;
ActivationBackward activation_backward;

constexpr DeviceCalls kCalls{norm_forward,       norm_backward,       cross_entropy,
                             gained_sum_forward, gained_sum_backward, combine_forward,
                             combine_backward,   activation_forward,  activation_backward};

}  // namespace skipless::kernels::SKIPLESS_PLACE
