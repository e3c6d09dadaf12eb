// LibTorch's product of small bfloat16 matrices (oneDNN's), for kernels.
#pragma once

#include "models/kernels/shaped_attention_bf16_kernel.h"

namespace skipless {

/// Null where the processor does not multiply bfloat16 itself (AVX512-BF16).
kernels::PairProduct pair_product();

}  // namespace skipless
