# ccache and mold where they exist: a clean rebuild costs seconds instead of minutes.
find_program(SKIPLESS_CCACHE ccache)
if(SKIPLESS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SKIPLESS_CCACHE}")
endif()

find_program(SKIPLESS_MOLD mold)
if(SKIPLESS_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
