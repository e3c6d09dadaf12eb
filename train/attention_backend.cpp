#include "train/attention_backend.h"

#include <ATen/Context.h>

namespace skipless {

AttentionBackend attention_backend(const DeviceTraits& traits, Precision precision) {
  const bool half = precision == Precision::fp16 || precision == Precision::bf16;
  return half && traits.major >= 8 ? AttentionBackend::flash : AttentionBackend::memory_efficient;
}

std::string_view name_of(AttentionBackend backend) {
  return backend == AttentionBackend::flash ? "flash" : "memory-efficient";
}

void use_attention_backend(AttentionBackend backend) {
  auto& context = at::globalContext();
  context.setSDPUseFlash(backend == AttentionBackend::flash);
  context.setSDPUseMemEfficient(true);
  context.setSDPUseMath(true);
  context.setSDPUseCuDNN(false);
}

}  // namespace skipless
