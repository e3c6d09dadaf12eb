// AddressSanitizer knows nothing of mapped files: behind a file's last byte the rest of its page can be read. Here the
// linker puts these two functions before mmap and munmap (--wrap), and that rest is marked as not to be touched.
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace {

std::size_t rest_of_page(std::size_t length) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (page - length % page) % page;
}

}  // namespace

extern "C" {

void* __real_mmap(void* address, std::size_t length, int protection, int flags, int descriptor, off_t offset);
int __real_munmap(void* address, std::size_t length);

void* __wrap_mmap(void* address, std::size_t length, int protection, int flags, int descriptor, off_t offset) {
  void* mapping = __real_mmap(address, length, protection, flags, descriptor, offset);
  if (mapping != MAP_FAILED && descriptor >= 0) {
    ASAN_POISON_MEMORY_REGION(static_cast<char*>(mapping) + length, rest_of_page(length));
  }
  return mapping;
}

int __wrap_munmap(void* address, std::size_t length) {
  ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(address) + length, rest_of_page(length));
  return __real_munmap(address, length);
}

}  // extern "C"
