# SPDX-License-Identifier: Apache-2.0
# One switch for the whole build: every object and every executable is instrumented alike.
if(HEDDLE_SANITIZE)
  add_compile_options(-fsanitize=${HEDDLE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
                      -fno-sanitize=vptr)
  add_link_options(-fsanitize=${HEDDLE_SANITIZE})
endif()
