#include "train/peak_memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <sys/resource.h>

namespace skipless {

namespace {

auto allocated_bytes(at::Device device) {
  using c10::CachingAllocator::StatType;
  const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  return stats.allocated_bytes[static_cast<size_t>(StatType::AGGREGATE)];
}

}  // namespace

int64_t restart_peak_memory(at::Device device) {
  c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
  return allocated_bytes(device).current;
}

int64_t peak_memory(at::Device device) {
  if (device.is_cuda()) return allocated_bytes(device).peak;
  constexpr int64_t kKiB = 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kKiB;
}

}  // namespace skipless
