# SPDX-License-Identifier: Apache-2.0
# Warnings are errors in our own code, but for pip on machines with another compiler; system and third-party headers are SYSTEM includes.
add_library(heddle_warnings INTERFACE)
target_compile_options(heddle_warnings INTERFACE -Wall -Wextra -Wpedantic)
if(NOT SKBUILD OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(heddle_warnings INTERFACE -Werror -Wno-unused-parameter
                         -Wno-gnu-zero-variadic-macro-arguments)
endif()
