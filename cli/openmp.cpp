#include "cli/openmp.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace skipless {

void let_openmp_threads_sleep() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string arguments{std::istreambuf_iterator<char>(file), {}};
  std::vector<char*> argv;
  for (size_t at = 0; at < arguments.size(); at = arguments.find('\0', at) + 1) argv.push_back(&arguments[at]);
  argv.push_back(nullptr);
  if (argv.size() < 2) return;  // no /proc: go on with spinning threads
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  ::execv("/proc/self/exe", argv.data());
}

}  // namespace skipless
