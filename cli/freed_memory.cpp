#include "cli/freed_memory.h"

#include <malloc.h>

#include <limits>

namespace skipless {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kGibibyte = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kGibibyte);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, kGibibyte / 16);
#endif
}

void return_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

}  // namespace skipless
