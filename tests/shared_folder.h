// The folder of reference material that is not part of the project: SKIPLESS_SHARED, else ../shared beside the
// checkout. A test that needs it begins with SKIPLESS_NEEDS(path), which says 'skipped' with the reason where the path
// is absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include <catch2/catch.hpp>

namespace skipless::test {

inline std::filesystem::path shared_folder() {
  const char* setting = std::getenv("SKIPLESS_SHARED");
  return setting != nullptr ? std::filesystem::path(setting)
                            : std::filesystem::path(SKIPLESS_SOURCE_DIR).parent_path() / "shared";
}

inline void say_skipped(const std::string& reason) {
  std::cout << "skipped: " << Catch::getResultCapture().getCurrentTestName() << ": " << reason << std::endl;
}

}  // namespace skipless::test

#define SKIPLESS_NEEDS(needed)                                                   \
  if (!std::filesystem::exists(needed)) {                                        \
    skipless::test::say_skipped("no " + std::filesystem::path(needed).string()); \
    SUCCEED();                                                                   \
    return;                                                                      \
  }                                                                              \
  static_cast<void>(0)
