# SPDX-License-Identifier: Apache-2.0
# A script: cmake -DINPUT=Passes.td -DOUTPUT=FILE -P PassNames.cmake
# Writes the short name of every pass as a constant: Pass<"transformer-fuse-qkv"> of FuseQkvPass
# becomes fuseQkv = "fuse-qkv". Reports and --disable-pass call it by that name.
file(READ ${INPUT} text)
set(definition "def [A-Za-z0-9]+Pass : Pass<\"[a-z0-9-]+\"")
string(REGEX MATCHALL "${definition}" definitions "${text}")
set(text "// Made from Passes.td by PassNames.cmake.\n")
foreach(each ${definitions})
  string(REGEX REPLACE "def (.)([A-Za-z0-9]+)Pass.*" "\\1" first ${each})
  string(REGEX REPLACE "def (.)([A-Za-z0-9]+)Pass.*" "\\2" rest ${each})
  string(REGEX REPLACE ".*\"([a-z0-9-]+)\"" "\\1" argument ${each})
  string(REGEX REPLACE "^(transformer|dataflow|kernels)-" "" name ${argument})
  string(TOLOWER ${first} first)
  string(APPEND text "inline constexpr llvm::StringLiteral ${first}${rest}(\"${name}\");\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
