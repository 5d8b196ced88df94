# SPDX-License-Identifier: Apache-2.0
# A script: cmake -DOUTPUT=FILE -DNAMESPACE=heddle::page -DFILES=a.html;b.js -P EmbedFiles.cmake
# Writes a C++ file with the bytes of each file as an array, named after it: pageHtml, pageJs.
set(text "// Made from files by EmbedFiles.cmake.\nnamespace ${NAMESPACE} {\n")
foreach(file ${FILES})
  get_filename_component(stem ${file} NAME_WE)
  get_filename_component(ending ${file} LAST_EXT)
  string(REGEX REPLACE "^\\.(.)(.*)" "\\1;\\2" letters ${ending})
  list(GET letters 0 first)
  list(GET letters 1 rest)
  string(TOUPPER ${first} first)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
         "\\1\n" bytes "${bytes}")
  string(APPEND text "static constexpr unsigned char ${stem}${first}${rest}[] = {\n${bytes}};\n")
endforeach()
string(APPEND text "} // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${text}")
