#include "cli/standard_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace skipless {

namespace {

/// Of the first write that failed: a later success, or a later error, says less.
std::atomic<int> first_error{0};

void keep_error() {
  int none = 0;
  first_error.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

bool flushed() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  keep_error();
  return false;
}

}  // namespace

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is the one that is taken.
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

void write_standard_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool write_standard_output(std::string_view text) {
  errno = 0;
  // What does not fit into the buffer is written at once.
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size()) keep_error();
  return flushed();
}

std::string standard_output_problem() {
  if (flushed()) return "";
  return fmt::format("cannot write to standard output: {}", std::strerror(first_error));
}

}  // namespace skipless
