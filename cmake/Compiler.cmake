# Clang where it is installed and nothing else was asked for (CXX or CMAKE_CXX_COMPILER): it instantiates the templates of
# LibTorch's headers once, in the precompiled header, where GCC does so again in every file (docs/results.md).
if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  find_program(SKIPLESS_CLANG NAMES clang++-16 clang++-17 clang++-18 clang++-19)
  if(SKIPLESS_CLANG)
    set(CMAKE_CXX_COMPILER "${SKIPLESS_CLANG}")
  endif()
endif()
