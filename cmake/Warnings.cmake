# Warnings of our own C++; headers of dependencies are SYSTEM and stay silent. CUDA has its own (CudaKernels.cmake).
set(_warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports impossible overlaps for "literal" + std::string at -O3 (GCC bug 105329).
  list(APPEND _warnings -Wno-restrict)
endif()
if(SKIPLESS_WERROR)
  list(APPEND _warnings -Werror)
endif()
add_library(skipless_warnings INTERFACE)
target_compile_options(skipless_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${_warnings}>")
