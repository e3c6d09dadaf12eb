// The sanitizers see what they are there for.
#include <sanitizer/asan_interface.h>

#include <catch2/catch.hpp>

#include "data/mapped_file.h"
#include "tests/temporary_folder.h"

TEST_CASE("a byte behind a mapped file is poisoned, and the last one is not", "[fuzz]") {
  const skipless::test::TemporaryFolder folder;
  for (const std::size_t size : {1, 7, 8, 100, 4095}) {
    const skipless::MappedFile file(folder.write("file", std::string(size, 'x')));
    CHECK(__asan_address_is_poisoned(file.data() + size) == 1);
    CHECK(__asan_address_is_poisoned(file.data() + size - 1) == 0);
  }
}
