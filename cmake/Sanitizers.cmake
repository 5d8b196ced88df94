# SPDX-License-Identifier: Apache-2.0
# One switch for the whole build: every object and every executable is instrumented alike.
if(HEDDLE_SANITIZE)
  add_compile_options(-fsanitize=${HEDDLE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
                      -fno-sanitize=vptr)
  # "undefined" does not hold conversions of floats that no integer has.
  if(HEDDLE_SANITIZE MATCHES "undefined")
    add_compile_options(-fsanitize=float-cast-overflow)
  endif()
  add_link_options(-fsanitize=${HEDDLE_SANITIZE})
  if(HEDDLE_SANITIZE MATCHES "address|thread")
    add_library(heddle_sanitizer_options OBJECT ${CMAKE_SOURCE_DIR}/cmake/SanitizerOptions.cpp)
  endif()
endif()

# What an executable asks of its sanitizers.
function(heddle_sanitize name)
  if(TARGET heddle_sanitizer_options)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:heddle_sanitizer_options>)
  endif()
endfunction()
