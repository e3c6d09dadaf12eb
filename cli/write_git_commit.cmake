# Writes HEADER with the commit of the checkout SOURCE, and touches it only when the commit changed.
find_package(Git QUIET)
set(commit "")
if(GIT_FOUND)
  execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --abbrev=12 --dirty --exclude=*
                  WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit MATCHES "^[0-9a-f]+(-dirty)?$")
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT [[
#pragma once
#define SKIPLESS_GIT_COMMIT "@commit@"
]] @ONLY)
