#include "train/peak_memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <sys/resource.h>

namespace skipless {

int64_t peak_memory(at::Device device) {
  if (device.is_cuda()) {
    using c10::CachingAllocator::StatType;
    const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
    return stats.allocated_bytes[static_cast<size_t>(StatType::AGGREGATE)].peak;
  }
  constexpr int64_t kKiB = 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kKiB;
}

}  // namespace skipless
