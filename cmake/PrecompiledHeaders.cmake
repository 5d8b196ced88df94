# SPDX-License-Identifier: Apache-2.0
# The headers of others that most of our files begin with, parsed once for each kind of target: a
# third of the time of a build from nothing. Files still include what they use; a build with
# HEDDLE_PRECOMPILED_HEADERS=OFF (the presets dev and asan) shows whether they do.
option(HEDDLE_PRECOMPILED_HEADERS "parse the most used headers of libraries once" ON)

# heddle_precompiled_headers(NAME HEADERS... LINK targets... [MLIR]): a target that others reuse headers from.
function(heddle_precompiled_headers name)
  cmake_parse_arguments(ARG "MLIR" "" "HEADERS;LINK" ${ARGN})
  if(NOT HEDDLE_PRECOMPILED_HEADERS)
    return()
  endif()
  # Clang writes the headers' times into the result, which would make every build another.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
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
    target_compile_options(${target} PRIVATE -fPIC "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

if(HEDDLE_BUILD_COMPILER)
  heddle_precompiled_headers(heddle_mlir_headers MLIR HEADERS
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/Math/IR/Math.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
    <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h> <llvm/ADT/StringExtras.h>
    <llvm/ADT/TypeSwitch.h>)
endif()
if(HEDDLE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  heddle_precompiled_headers(heddle_test_headers HEADERS
    <algorithm> <filesystem> <fmt/format.h> <fstream> <gtest/gtest.h> <random> <span> <string>
    <vector> LINK GTest::gtest fmt::fmt)
endif()
