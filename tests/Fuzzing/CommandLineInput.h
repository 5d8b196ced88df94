// SPDX-License-Identifier: Apache-2.0
///
/// Command lines as inputs, one argument per line. Mutations insert words that the program
/// declares, so that every option is covered.
#ifndef HEDDLE_TESTS_FUZZING_COMMANDLINEINPUT_H
#define HEDDLE_TESTS_FUZZING_COMMANDLINEINPUT_H

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace heddle::fuzzing {

/// Returns the names of a program's commands and options, and arguments that every program handles.
std::vector<std::string> declaredWords(const CLI::App &app);

/// Returns `program` and the lines of an input as arguments, which point into both;
/// null-terminated, as for main().
std::vector<char *> argumentsOf(std::string &program, std::string &lines);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_COMMANDLINEINPUT_H
