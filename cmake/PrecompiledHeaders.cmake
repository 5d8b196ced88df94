# SPDX-License-Identifier: Apache-2.0
# The headers that most of our files begin with, parsed once for each kind of target: about half
# of the time of a build from nothing. Files still include what they use; a build with
# HEDDLE_PRECOMPILED_HEADERS=OFF (the presets dev and asan) shows whether they do.
option(HEDDLE_PRECOMPILED_HEADERS "parse the most used headers of libraries once" ON)

# heddle_precompiled_headers(NAME HEADERS... LINK targets... [OPTIONS options...] [MLIR]): a target that others
# reuse headers from, which are compiled with the options as well.
function(heddle_precompiled_headers name)
  cmake_parse_arguments(ARG "MLIR" "" "HEADERS;LINK;OPTIONS" ${ARGN})
  if(NOT HEDDLE_PRECOMPILED_HEADERS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  # Clang writes the headers' times into the result, which would make every build another.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp" ${ARG_OPTIONS})
  set_target_properties(${name} PROPERTIES HEDDLE_OPTIONS "${ARG_OPTIONS}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} heddle_warnings)
  if(ARG_MLIR)
    heddle_use_mlir(${name})
  endif()
endfunction()

# heddle_reuse_headers(TARGET NAME)
function(heddle_reuse_headers target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
    # Executables too, where CMake would ask for -fPIE: all users are compiled alike.
    target_compile_options(${target} PRIVATE -fPIC "SHELL:-Xclang -fno-pch-timestamp"
                           $<TARGET_GENEX_EVAL:${name},$<TARGET_PROPERTY:${name},HEDDLE_OPTIONS>>)
  endif()
endfunction()

set(headers <algorithm> <array> <cmath> <cstring> <filesystem> <functional> <map> <memory> <optional>
    <set> <span> <sstream> <string> <unordered_map> <variant> <vector> <flatbuffers/flatbuffers.h>
    <fmt/format.h> <nlohmann/json.hpp>)
heddle_precompiled_headers(heddle_library_headers HEADERS ${headers} LINK fmt::fmt)
heddle_precompiled_headers(heddle_library_headers_no_rtti HEADERS ${headers} LINK fmt::fmt)
if(TARGET heddle_library_headers)
  target_compile_options(heddle_library_headers_no_rtti PRIVATE -fno-rtti)
  # As in the folders of the libraries.
  set_target_properties(heddle_library_headers heddle_library_headers_no_rtti PROPERTIES
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endif()
if(HEDDLE_BUILD_COMPILER)
  # What dialects, importers and the compiler include.
  set(mlir_headers <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h>
      <mlir/Dialect/Math/IR/Math.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
      <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h> <llvm/ADT/StringExtras.h>
      <llvm/ADT/TypeSwitch.h>)
  heddle_precompiled_headers(heddle_mlir_headers MLIR HEADERS ${mlir_headers})
  set(transformer_headers ${mlir_headers} <fmt/format.h>
      [["dialects/Transformer/Transformer.h"]])
  heddle_precompiled_headers(heddle_transformer_headers MLIR HEADERS ${transformer_headers}
    LINK heddle_transformer fmt::fmt)
  set(dataflow_headers ${transformer_headers} <mlir/Dialect/LLVMIR/LLVMDialect.h>
      [["dialects/Dataflow/Dataflow.h"]])
  heddle_precompiled_headers(heddle_dataflow_headers MLIR HEADERS ${dataflow_headers}
    LINK heddle_dataflow fmt::fmt)
endif()
if(HEDDLE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  # Tests and fuzz targets are not optimized, which saves half of their compilation; the libraries in them are.
  # Tests with MLIR are: the linker takes inline functions, of which MLIR has many, from the test's objects.
  # So are tests that compute much themselves (OPTIMIZED).
  set(unoptimized $<$<CONFIG:Release>:-O0>)
  set(test_headers ${headers} <fstream> <gtest/gtest.h> <random>)
  heddle_precompiled_headers(heddle_test_headers HEADERS ${test_headers} LINK GTest::gtest fmt::fmt
    OPTIONS ${unoptimized})
  heddle_precompiled_headers(heddle_optimized_test_headers HEADERS ${test_headers} LINK GTest::gtest fmt::fmt)
  # Fuzz targets compile files of libraries again.
  heddle_precompiled_headers(heddle_fuzzer_headers HEADERS ${headers} LINK fmt::fmt
    OPTIONS -fsanitize=fuzzer ${unoptimized})
  if(HEDDLE_BUILD_COMPILER)
    heddle_precompiled_headers(heddle_fuzzer_mlir_headers MLIR HEADERS ${transformer_headers}
      LINK heddle_transformer fmt::fmt OPTIONS -fsanitize=fuzzer ${unoptimized})
  endif()
endif()
