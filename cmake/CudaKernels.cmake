# skipless_cuda_kernels(TARGET FILE ...): compiles CUDA sources into TARGET, where LibTorch is linked with CUDA and there is
# a CUDA compiler that works.
#
# By default one pass through the compiler gives machine code for each of SKIPLESS_CUDA_CARDS, and what later cards compile
# for themselves: the kernels wait for memory, and need no instruction that came after compute capability 7.5. A pass for
# each card would take twice the time. Whoever sets CMAKE_CUDA_ARCHITECTURES (or CUDAARCHS) gets those instead.
set(SKIPLESS_CUDA_CARDS 75 80 86 89 90)

set(SKIPLESS_CUDA_KERNELS OFF)
if(SKIPLESS_WITH_CUDA)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND CUDAToolkit_NVCC_EXECUTABLE)
    set(ENV{CUDACXX} "${CUDAToolkit_NVCC_EXECUTABLE}")
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(SKIPLESS_CUDA_KERNELS ON)
    if(NOT DEFINED ENV{CUDAARCHS})
      set(CMAKE_CUDA_ARCHITECTURES OFF CACHE STRING "Compute capabilities; OFF: SKIPLESS_CUDA_CARDS")
    endif()
    enable_language(CUDA)
    set(CMAKE_CUDA_RUNTIME_LIBRARY None) # the shared one is linked below, as LibTorch does
  elseif(SKIPLESS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SKIPLESS_CUDA=ON, but nvcc cannot compile with this host compiler. Name another one in CUDAHOSTCXX.")
  else()
    message(WARNING "skipless: nvcc cannot compile with this host compiler (CUDAHOSTCXX names another one). LibTorch's "
                    "operations will do all the work on a GPU.")
  endif()
endif()

function(skipless_cuda_kernels target)
  if(NOT SKIPLESS_CUDA_KERNELS)
    return()
  endif()
  target_sources(${target} PRIVATE ${ARGN})
  target_compile_definitions(${target} PRIVATE SKIPLESS_CUDA_KERNELS)
  target_link_libraries(${target} PRIVATE CUDA::cudart)
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
  # --fmad=false: products are rounded before they are added, as on a CPU.
  set(options --extended-lambda --fmad=false "--compiler-options=-Wall,-Wextra,-Wshadow")
  if(SKIPLESS_WERROR)
    list(APPEND options --Werror=all-warnings "--compiler-options=-Werror")
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    list(TRANSFORM SKIPLESS_CUDA_CARDS PREPEND sm_ OUTPUT_VARIABLE cards)
    list(JOIN cards "," cards)
    list(APPEND options "--generate-code=arch=compute_75,code=[${cards},compute_75]")
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${options}>")
endfunction()
