// The instruction sets that kernels are compiled for: AVX-512, AVX2 and what every x86-64 has; elsewhere Highway's own
// choice. Comes before Highway's headers.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSE4 | HWY_SSSE3)
