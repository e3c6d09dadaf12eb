#include "cli/openmp.h"

#include <unistd.h>

#include <cstdlib>

namespace skipless {

void let_openmp_threads_sleep(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  ::execv("/proc/self/exe", argv);
  // No /proc: go on with spinning threads.
}

}  // namespace skipless
