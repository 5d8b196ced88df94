# SPDX-License-Identifier: Apache-2.0
# Runs before all else that installs: names what to build where LIBRARIES, a list of files, are not
# there. CMake alone would stop in the middle and name a file.
foreach(library ${LIBRARIES})
  if(NOT EXISTS ${library})
    message(FATAL_ERROR "nothing is installed: ${library} is not built, as after './dev demo', which "
                        "builds the programs alone; run './dev build' first")
  endif()
endforeach()
