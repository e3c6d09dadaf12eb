# Defines skipless::torch.
#
# The libraries are imported by hand rather than through find_package(Torch): the wheel's package file insists on a CUDA
# toolkit even for a build that never uses one, tries to detect a GPU, and overwrites the user's CUDA architectures.
if(SKIPLESS_LIBTORCH)
  set(_torch "${SKIPLESS_LIBTORCH}")
else()
  file(GLOB _torch "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
endif()
if(NOT EXISTS "${_torch}/include/torch/csrc/api/include/torch/types.h" OR NOT EXISTS "${_torch}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "No LibTorch in '${_torch}'. Run scripts/setup.sh, or pass -DSKIPLESS_LIBTORCH=/path/to/libtorch "
                      "(a folder with include/ and lib/libtorch_cpu.so).")
endif()

add_library(skipless_torch INTERFACE)
add_library(skipless::torch ALIAS skipless_torch)
target_include_directories(skipless_torch SYSTEM INTERFACE "${_torch}/include"
                                                           "${_torch}/include/torch/csrc/api/include")
target_link_libraries(skipless_torch INTERFACE "${_torch}/lib/libtorch_cpu.so" "${_torch}/lib/libc10.so")
target_link_options(skipless_torch INTERFACE "LINKER:-rpath,${_torch}/lib")

set(SKIPLESS_WITH_CUDA OFF)
if(NOT SKIPLESS_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND AND EXISTS "${_torch}/lib/libtorch_cuda.so")
    set(SKIPLESS_WITH_CUDA ON)
    # --no-as-needed: nothing of ours names a symbol of libtorch_cuda, which registers itself when it is loaded.
    target_link_options(skipless_torch INTERFACE "LINKER:--no-as-needed")
    target_link_libraries(skipless_torch INTERFACE "${_torch}/lib/libtorch_cuda.so" "${_torch}/lib/libc10_cuda.so")
    message(STATUS "skipless: LibTorch in ${_torch}, with CUDA (toolkit ${CUDAToolkit_VERSION})")
  elseif(SKIPLESS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SKIPLESS_CUDA=ON, but there is no CUDA toolkit, or LibTorch in '${_torch}' has no "
                        "libtorch_cuda.so. Install the toolkit, or use the preset 'release'.")
  endif()
endif()
if(NOT SKIPLESS_WITH_CUDA)
  message(STATUS "skipless: LibTorch in ${_torch}, CPU only")
endif()
