# ccache and mold where they exist: a clean rebuild costs seconds instead of minutes.
find_program(SKIPLESS_CCACHE ccache)
if(SKIPLESS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # By itself ccache passes by every file that reads a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${SKIPLESS_CCACHE}")
endif()
if(SKIPLESS_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${SKIPLESS_CCACHE}")
endif()

find_program(SKIPLESS_MOLD mold)
if(SKIPLESS_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
