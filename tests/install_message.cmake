# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` says where the libraries are not built, and that it goes on where they are.
set(script ${SOURCE}/cmake/CheckBuilt.cmake)
execute_process(COMMAND ${CMAKE_COMMAND} "-DLIBRARIES=${script};${SOURCE}/build/none/libheddle.so"
                        -P ${script}
                RESULT_VARIABLE result ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(result EQUAL 0 OR NOT output MATCHES "libheddle.so is not built.*run './dev build' first")
  message(FATAL_ERROR "installing without libraries: ${result}\n${output}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -DLIBRARIES=${script} -P ${script} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "installing with libraries: ${result}")
endif()
# The installation of this build begins with it.
file(READ ${BUILD}/cmake_install.cmake install)
string(FIND "${install}" "CheckBuilt.cmake" check)
string(FIND "${install}" "runtime/cmake_install.cmake" runtime)
if(check EQUAL -1 OR check GREATER runtime)
  message(FATAL_ERROR "${BUILD}/cmake_install.cmake does not begin with cmake/CheckBuilt.cmake")
endif()
