// The text of a config file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace

std::string read_config_text(const std::filesystem::path& file) {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.value() < 0) fail(file, std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor.value(), &status) == 0 && S_ISDIR(status.st_mode)) fail(file, "it is a folder");
  // Read rather than asked for its size: a pipe has none, and a device has no end.
  std::string text;
  while (text.size() <= kLargestConfig) {
    const std::size_t before = text.size();
    text.resize(before + kChunk);
    const ssize_t got = ::read(descriptor.value(), text.data() + before, kChunk);
    text.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) fail(file, std::strerror(errno));
  }
  fail(file, fmt::format("it is larger than {} bytes", kLargestConfig));
}

}  // namespace skipless
