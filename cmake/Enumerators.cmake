# SPDX-License-Identifier: Apache-2.0
# A script: cmake -DINPUT=Enums.h.inc -DFOLDER=BUILD_FOLDER -DGUARD=NAME -P Enumerators.cmake
# Splits what mlir-tblgen writes of a dialect's enumerations in two: Enumerators.h with the
# enumerators, which needs no header of LLVM and can be installed, and EnumSupport.h.inc with their
# names, parsers and hashes.
file(READ ${INPUT} text)
# CMake's lists know these characters.
string(REPLACE ";" "<semicolon>" text "${text}")
string(REPLACE "[" "<bracket>" text "${text}")
string(REPLACE "]" "<closing>" text "${text}")
string(REGEX MATCH "\nnamespace ([a-z_:]+) {\n" opening "${text}")
set(namespace ${CMAKE_MATCH_1})
set(enumeration "// [^\n]*\nenum class [A-Za-z0-9]+ : [a-z0-9_]+ {[^}]*}<semicolon>\n")
string(REGEX MATCHALL "${enumeration}" enumerations "${text}")
string(REGEX REPLACE "${enumeration}" "" support "${text}")
list(JOIN enumerations "\n" enumerations)
set(text "// Made by Enumerators.cmake.\n#ifndef ${GUARD}\n#define ${GUARD}\n
#include <cstdint>\n\nnamespace ${namespace} {\n\n${enumerations}\n} // namespace ${namespace}\n
#endif // ${GUARD}\n")
foreach(name text support)
  string(REPLACE "<semicolon>" ";" ${name} "${${name}}")
  string(REPLACE "<bracket>" "[" ${name} "${${name}}")
  string(REPLACE "<closing>" "]" ${name} "${${name}}")
endforeach()
file(WRITE ${FOLDER}/Enumerators.h "${text}")
file(WRITE ${FOLDER}/EnumSupport.h.inc "${support}")
