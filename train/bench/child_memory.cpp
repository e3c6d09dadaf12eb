#include "train/bench/child_memory.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>

#include <fmt/format.h>

#include "configs/error.h"

namespace skipless {

namespace {

int64_t resident_bytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

int64_t most_resident_bytes() {
  constexpr int64_t kKiB = 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kKiB;
}

[[noreturn]] void work_in_child(const std::function<void()>& work, int result) {
  int code = 1;
  try {
    const int64_t before = resident_bytes();
    work();
    const int64_t peak = most_resident_bytes() - before;
    code = ::write(result, &peak, sizeof(peak)) == sizeof(peak) ? 0 : 1;
  } catch (const std::exception&) {
  }
  ::_exit(code);
}

}  // namespace

int64_t peak_memory_of(const std::function<void()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw RunError(fmt::format("cannot measure memory: {}", std::strerror(errno)));
  const pid_t child = ::fork();
  if (child == 0) work_in_child(work, ends[1]);
  ::close(ends[1]);
  int64_t peak = 0;
  const bool told = child > 0 && ::read(ends[0], &peak, sizeof(peak)) == sizeof(peak);
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (!told) throw RunError("cannot measure memory: the process that runs three steps for it failed");
  return peak;
}

}  // namespace skipless
