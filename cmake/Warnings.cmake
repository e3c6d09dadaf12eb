# Warnings of our own code; headers of dependencies are SYSTEM and stay silent.
add_library(skipless_warnings INTERFACE)
target_compile_options(skipless_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                   -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports impossible overlaps and sizes for std::string at -O3 (GCC bugs 105329, 105651).
  target_compile_options(skipless_warnings INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()
if(SKIPLESS_WERROR)
  target_compile_options(skipless_warnings INTERFACE -Werror)
endif()
if(SKIPLESS_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
