# SPDX-License-Identifier: Apache-2.0
# Installs the build to a folder of its own, builds examples/03-write-attention against it, runs the
# program, and looks at what find_package() says where the compiler is missing.
set(work ${BUILD}/installed-compiler)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

# Runs a command; its exit code and what it printed are in `result` and `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  set(result ${result} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()
function(run_well)
  run(${ARGN})
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run_well(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
set(configure ${CMAKE_COMMAND} -S ${SOURCE}/examples/03-write-attention -G Ninja
    -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
    -DCMAKE_BUILD_TYPE=Release)
run_well(${configure} -B ${work}/build)
run_well(${CMAKE_COMMAND} --build ${work}/build)
run_well(${work}/build/gated_attention ${work})
foreach(expected "fuse-attention: 2 times" "layers.0.attention" "largest difference")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "no '${expected}' in:\n${output}")
  endif()
endforeach()
message(STATUS "${output}")

file(GLOB libraries ${work}/prefix/lib*/libheddle-compiler* ${work}/prefix/lib*/*/libheddle-compiler*)
if(NOT libraries)
  message(FATAL_ERROR "no libheddle-compiler in ${work}/prefix")
endif()
file(REMOVE ${libraries})
run(${configure} -B ${work}/build-without)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(result EQUAL 0 OR NOT output MATCHES "the component \"compiler\" is not installed at")
  message(FATAL_ERROR "without the compiler, find_package() said:\n${output}")
endif()
