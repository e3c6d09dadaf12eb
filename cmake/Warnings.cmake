# Warnings of our own code; headers of dependencies are SYSTEM and stay silent.
add_library(skipless_warnings INTERFACE)
target_compile_options(skipless_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                   -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports impossible overlaps for "literal" + std::string at -O3 (GCC bug 105329).
  target_compile_options(skipless_warnings INTERFACE -Wno-restrict)
endif()
if(SKIPLESS_WERROR)
  target_compile_options(skipless_warnings INTERFACE -Werror)
endif()
