// SPDX-License-Identifier: Apache-2.0
///
/// Command lines as inputs, one argument a line. The words that mutations write are those that the
/// program declares, so that no option can be forgotten.
#ifndef HEDDLE_TESTS_FUZZING_COMMANDLINEINPUT_H
#define HEDDLE_TESTS_FUZZING_COMMANDLINEINPUT_H

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace heddle::fuzzing {

/// The names of a program's commands and options, and arguments that every program meets.
std::vector<std::string> declaredWords(const CLI::App &app);

/// `program` and the lines of an input as arguments, which point into both; null at the end, as
/// main() gets them.
std::vector<char *> argumentsOf(std::string &program, std::string &lines);

} // namespace heddle::fuzzing

#endif // HEDDLE_TESTS_FUZZING_COMMANDLINEINPUT_H
