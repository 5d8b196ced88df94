# SPDX-License-Identifier: Apache-2.0
# Warnings are errors in our own code; system and third-party headers are SYSTEM includes.
add_library(heddle_warnings INTERFACE)
target_compile_options(heddle_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror -Wno-unused-parameter
                       -Wno-gnu-zero-variadic-macro-arguments)
