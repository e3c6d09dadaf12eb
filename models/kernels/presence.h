// Whether the kernels of the CPU are in this program.
#pragma once

namespace skipless::kernels {

/// They are where Highway was there to build them. A program without it links tests/device/bare/absent_kernels.cpp in
/// their place, and then nothing may call one.
bool are_present();

}  // namespace skipless::kernels
