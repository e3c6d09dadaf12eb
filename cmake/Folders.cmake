# skipless_folder(NAME LINKS ...): the library skipless_NAME from every .cpp below NAME/.
# Sources are globbed so that adding a block is one pair of files and one row of a table, and no build file.
function(skipless_folder name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${name}/*.cpp")
  add_library(skipless_${name} STATIC ${sources})
  target_include_directories(skipless_${name} BEFORE PUBLIC "${SKIPLESS_FMT_FIRST}" "${CMAKE_SOURCE_DIR}")
  target_link_libraries(skipless_${name} PUBLIC ${ARG_LINKS} PRIVATE skipless_warnings)
endfunction()

# skipless_test(FOLDER): one test program per folder, linked with that folder's library alone.
function(skipless_test name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${name}/*.cpp")
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE skipless_${name} skipless_test_main skipless_warnings)
  add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS unit)
endfunction()
