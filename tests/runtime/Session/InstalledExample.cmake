# SPDX-License-Identifier: Apache-2.0
# Installs the build to a folder of its own, configures and builds examples/01-embed-sentences
# against it, and runs both programs. MODEL: a compiled model; without it the test model is written.
set(work ${BUILD}/installed-example)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
foreach(header heddle.h ElementType.h ElementTypes.def RowSpace.h
        RowSpaces.def Session.h Status.h Status.def Abi.h Export.h)
  if(NOT EXISTS ${work}/prefix/include/heddle/${header})
    message(FATAL_ERROR "the header ${header} is not installed")
  endif()
endforeach()
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/01-embed-sentences -B ${work}/build -G Ninja
    -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${work}/build)
if(NOT MODEL)
  set(MODEL ${work}/model.so)
  run(${WRITE_FIXTURE} ${MODEL})
endif()
foreach(program embed_c embed_cpp)
  run(${work}/build/${program} ${MODEL} "a cat sat" "a cat sat down" "xylophone music")
  if(NOT output MATCHES "similarity")
    message(FATAL_ERROR "${program} printed:\n${output}")
  endif()
  set(printed_${program} "${output}")
endforeach()
if(NOT printed_embed_c STREQUAL printed_embed_cpp)
  message(FATAL_ERROR "C:\n${printed_embed_c}\nC++:\n${printed_embed_cpp}")
endif()
message(STATUS "${output}")
