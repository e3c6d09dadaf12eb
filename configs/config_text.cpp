// The text of a config file.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "configs/config_file.h"
#include "configs/printable.h"
#include "configs/yaml_node.h"

namespace skipless {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw UserError(fmt::format("cannot read config {}: {}", in_quotes(file.string()), reason));
}

// Waits for data or the end of them. False when neither came.
bool has_more(const Descriptor& descriptor, std::chrono::milliseconds patience) {
  pollfd waiting{.fd = descriptor.value(), .events = POLLIN, .revents = 0};
  int ready = -1;
  do {
    ready = ::poll(&waiting, 1, static_cast<int>(patience.count()));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;  // after an error, reading says which
}

}  // namespace

std::string read_config_text(const std::filesystem::path& file, std::chrono::milliseconds patience) {
  // Without O_NONBLOCK, a named pipe that nothing writes into would already be waited for here.
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.value() < 0) fail(file, std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor.value(), &status) == 0 && S_ISDIR(status.st_mode)) fail(file, "it is a folder");
  // Read rather than asked for its size: a pipe has none, and a device has no end.
  std::string text;
  while (text.size() <= kLargestConfig) {
    if (!has_more(descriptor, patience)) {
      fail(file, fmt::format("nothing was written into this pipe for {} s", patience.count() / 1e3));
    }
    const std::size_t before = text.size();
    text.resize(before + kChunk);
    const ssize_t got = ::read(descriptor.value(), text.data() + before, kChunk);
    text.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR && errno != EAGAIN) fail(file, std::strerror(errno));
  }
  fail(file, fmt::format("it is larger than {} bytes", kLargestConfig));
}

}  // namespace skipless
