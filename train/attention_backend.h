// Which of LibTorch's fused attentions a GPU runs.
#pragma once

#include <string_view>

#include "train/precision.h"

namespace skipless {

/// The one that A = softmax(QK^T/sqrt(dh)) V runs by where its form allows. Flash takes no mask of padding, and neither
/// takes float64: such calls go to memory_efficient, and what that does not take to the plain formula.
enum class AttentionBackend { memory_efficient, flash };

/// Of a CUDA device: flash in half precision from compute capability 8.0 on, else memory_efficient. cuDNN's is left out
/// everywhere, also where LibTorch by itself would prefer it.
AttentionBackend attention_backend(const DeviceTraits& traits, Precision precision);

std::string_view name_of(AttentionBackend backend);

/// For the whole process; on a CPU nothing may call it, for its own flash attention hangs on the same switch.
void use_attention_backend(AttentionBackend backend);

}  // namespace skipless
