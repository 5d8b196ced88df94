# SPDX-License-Identifier: Apache-2.0
# The macros leaves use: heddle_compile_together, heddle_compile_alone, heddle_library, heddle_executable,
# heddle_dialect, heddle_embed, heddle_gtest, heddle_emulated_gpu, heddle_gtest_on_gpu, heddle_fuzzer. Leaves list
# sources and dependencies and hold no logic.

# Which headers the files of targets begin with (PrecompiledHeaders.cmake), without MLIR and with it.
set(HEDDLE_HEADERS heddle_library_headers)
set(HEDDLE_MLIR_HEADERS heddle_mlir_headers)

# heddle_compile_together(NAME): the sources of a target are compiled ten at a time, so that what headers
# define is instantiated once for all of them. It is what sources with MLIR, fuzz targets and tests do by
# themselves; libraries that are part of a wheel do not, because ccache then has their objects for all builds.
# Files still include what they use; the presets dev and asan compile each by itself.
option(HEDDLE_UNITY_BUILD "compile several sources of a target together" ON)
function(heddle_compile_together name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${HEDDLE_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 10)
endfunction()

# heddle_compile_alone(SOURCES...): sources of this folder that are compiled by themselves nevertheless, because
# they use names of their own that other sources of the target use as well.
macro(heddle_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

# heddle_library(NAME SOURCES... LINK targets... [MLIR | NO_RTTI])
# MLIR: the library uses LLVM and MLIR headers, is compiled without RTTI and links libMLIR.so.
# NO_RTTI: programs with MLIR, which are compiled without RTTI, link it too.
function(heddle_library name)
  cmake_parse_arguments(ARG "MLIR;NO_RTTI" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
                             ${CMAKE_SOURCE_DIR}/runtime/include)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE $<BUILD_INTERFACE:heddle_warnings>)
  if(ARG_MLIR)
    heddle_use_mlir(${name})
    heddle_reuse_headers(${name} ${HEDDLE_MLIR_HEADERS})
  elseif(ARG_NO_RTTI)
    target_compile_options(${name} PRIVATE -fno-rtti)
    heddle_reuse_headers(${name} ${HEDDLE_HEADERS}_no_rtti)
  else()
    heddle_reuse_headers(${name} ${HEDDLE_HEADERS})
  endif()
endfunction()

# heddle_executable(NAME SOURCES... LINK targets... [MLIR])
function(heddle_executable name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  heddle_sanitize(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} $<BUILD_INTERFACE:heddle_warnings>)
  if(ARG_MLIR)
    heddle_use_mlir(${name})
    heddle_reuse_headers(${name} ${HEDDLE_MLIR_HEADERS})
  endif()
endfunction()

# LLVM and MLIR as the distribution builds them: one shared library each, no RTTI, no exceptions.
function(heddle_use_mlir name)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS}
                             ${LLD_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE -fno-rtti -fno-exceptions -fvisibility-inlines-hidden)
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  heddle_compile_together(${name})
endfunction()

# heddle_dialect(NAME Transformer PREFIX transformer)
# Generates <Name>Dialect, Types, Attrs, Enums and Ops .inc files from <Name>Ops.td beside it, and
# Enumerators.h for programs without MLIR.
function(heddle_dialect)
  cmake_parse_arguments(ARG "" "NAME;PREFIX" "" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS ${ARG_NAME}Ops.td)
  set(include -I${CMAKE_SOURCE_DIR} -I${MLIR_INCLUDE_DIRS})
  mlir_tablegen(Dialect.h.inc -gen-dialect-decls -dialect=${ARG_PREFIX} ${include})
  mlir_tablegen(Dialect.cpp.inc -gen-dialect-defs -dialect=${ARG_PREFIX} ${include})
  mlir_tablegen(Enums.h.inc -gen-enum-decls ${include})
  mlir_tablegen(Enums.cpp.inc -gen-enum-defs ${include})
  mlir_tablegen(Types.h.inc -gen-typedef-decls -typedefs-dialect=${ARG_PREFIX} ${include})
  mlir_tablegen(Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${ARG_PREFIX} ${include})
  mlir_tablegen(Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${ARG_PREFIX} ${include})
  mlir_tablegen(Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${ARG_PREFIX} ${include})
  mlir_tablegen(Ops.h.inc -gen-op-decls -dialect=${ARG_PREFIX} ${include})
  mlir_tablegen(Ops.cpp.inc -gen-op-defs -dialect=${ARG_PREFIX} ${include})
  set(folder ${CMAKE_CURRENT_BINARY_DIR})
  set(script ${CMAKE_SOURCE_DIR}/cmake/Enumerators.cmake)
  string(TOUPPER HEDDLE_DIALECTS_${ARG_PREFIX}_ENUMERATORS_H guard)
  add_custom_command(OUTPUT ${folder}/Enumerators.h ${folder}/EnumSupport.h.inc
    COMMAND ${CMAKE_COMMAND} -DINPUT=${folder}/Enums.h.inc -DFOLDER=${folder} -DGUARD=${guard}
            -P ${script}
    DEPENDS ${folder}/Enums.h.inc ${script} COMMENT "Writing the enumerators of ${ARG_NAME}"
    VERBATIM)
  list(APPEND TABLEGEN_OUTPUT ${folder}/Enumerators.h ${folder}/EnumSupport.h.inc)
  add_public_tablegen_target(heddle_${ARG_PREFIX}_tablegen)
endfunction()

# heddle_embed(NAME NAMESPACE name OUTPUT file FILES...): the target NAME makes OUTPUT, beside the
# generated files of this folder, with each file as an array of bytes.
function(heddle_embed name)
  cmake_parse_arguments(ARG "" "NAMESPACE;OUTPUT" "FILES" ${ARGN})
  list(TRANSFORM ARG_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUTPUT})
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAMESPACE=${ARG_NAMESPACE} "-DFILES=${files}"
            -P ${script}
    DEPENDS ${files} ${script} COMMENT "Embedding ${ARG_OUTPUT}" VERBATIM)
  add_custom_target(${name} DEPENDS ${output})
endfunction()

# heddle_manual_pages(PROGRAM): what the program writes below the folder it is given is installed.
function(heddle_manual_pages program)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${program}.files)
  add_custom_command(OUTPUT ${folder}.stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
    COMMAND ${program} ${folder}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}.stamp
    DEPENDS ${program} COMMENT "Writing the pages of ${program}" VERBATIM)
  add_custom_target(${program}-pages ALL DEPENDS ${folder}.stamp)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  # Optional: the libraries can be built and installed without the programs.
  install(DIRECTORY ${folder}/ DESTINATION . OPTIONAL)
endfunction()

# heddle_gtest(NAME SOURCES... LINK targets... [MLIR | OPTIMIZED]): a GoogleTest program known to ctest.
# OPTIMIZED: its sources compute so much that the time of the test depends on them.
function(heddle_gtest name)
  cmake_parse_arguments(ARG "MLIR;OPTIMIZED" "" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  heddle_sanitize(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main
                        $<BUILD_INTERFACE:heddle_warnings>)
  target_compile_definitions(${name} PRIVATE HEDDLE_TEST_DATA="${CMAKE_SOURCE_DIR}/tests"
                             HEDDLE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(ARG_MLIR)
    heddle_use_mlir(${name})
    heddle_reuse_headers(${name} ${HEDDLE_MLIR_HEADERS})
  elseif(ARG_OPTIMIZED)
    heddle_reuse_headers(${name} heddle_optimized_test_headers)
  else()
    heddle_reuse_headers(${name} heddle_test_headers)
  endif()
  heddle_compile_together(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# heddle_emulated_gpu(TEST): the test finds the emulated GPU's driver (tests/Emulator).
set(HEDDLE_CHECKED_LAUNCHES 8 CACHE STRING
    "of the launches of a kernel, the emulated GPU checks the first ones and each N-th for races; 1: all")
function(heddle_emulated_gpu test)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
               LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/tests/emulator HEDDLE_EMULATOR_CHECKED=${HEDDLE_CHECKED_LAUNCHES})
endfunction()

# heddle_gtest_on_gpu(NAME PROGRAM TARGET PATTERNS...): a test that runs the tests of a GoogleTest program whose
# names match, on the emulated GPU, with models that are compiled for one of its targets.
function(heddle_gtest_on_gpu name program target)
  string(JOIN ":" filter ${ARGN})
  add_test(NAME ${name} COMMAND ${program} --gtest_filter=${filter})
  heddle_emulated_gpu(${name})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT HEDDLE_TEST_DEVICE=cuda HEDDLE_TEST_TARGET=${target})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${HEDDLE_LONGEST_TEST})
endfunction()

# heddle_fuzzer(NAME SOURCES... LINK targets... [CORPUS folders or patterns...] [OPTIONS options...]
# [MLIR]): a libFuzzer program. The tests always begin with the same inputs, so that a change is judged by what
# it changed; the nightly preset and `./dev fuzz` search on with other ones.
set(HEDDLE_FUZZ_SECONDS 6 CACHE STRING "seconds every fuzz target runs as a test")
set(HEDDLE_FUZZ_SEED 1 CACHE STRING "where the random numbers of fuzz targets begin; 0: elsewhere every time")
function(heddle_fuzzer name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK;CORPUS;OPTIONS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  heddle_sanitize(${name})
  if(ARG_MLIR)
    heddle_use_mlir(${name})
    heddle_reuse_headers(${name} heddle_fuzzer_mlir_headers)
  else()
    heddle_reuse_headers(${name} heddle_fuzzer_headers)
  endif()
  heddle_compile_together(${name})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} $<BUILD_INTERFACE:heddle_warnings>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
  # A list of files and no folder, into which libFuzzer would write what it finds: the next run would
  # begin elsewhere.
  if(ARG_CORPUS)
    list(TRANSFORM ARG_CORPUS APPEND "/*" REGEX "^[^*]*$")
    file(GLOB inputs CONFIGURE_DEPENDS ${ARG_CORPUS})
    list(JOIN inputs "," inputs)
    set(list ${CMAKE_BINARY_DIR}/fuzz/${name}.inputs)
    file(WRITE ${list} "${inputs}")
    list(APPEND ARG_OPTIONS -seed_inputs=@${list})
  endif()
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${HEDDLE_FUZZ_SECONDS} -rss_limit_mb=2048
           -seed=${HEDDLE_FUZZ_SEED} -timeout=10 -print_final_stats=1 ${ARG_OPTIONS})
endfunction()
