// SPDX-License-Identifier: Apache-2.0
///
/// Parses arguments of `heddle` written as a list, for tests.
#ifndef HEDDLE_TESTS_RUNTIME_TOOLS_PARSEDARGUMENTS_H
#define HEDDLE_TESTS_RUNTIME_TOOLS_PARSEDARGUMENTS_H

#include "runtime/Tools/Options/CommandLine.h"

#include <string>
#include <utility>
#include <vector>

namespace heddle::tools {

/// Parses the arguments after the program's name.
inline CommandLine parse(std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "heddle");
  return parseCommandLine(arguments);
}

/// Returns "command: message" for invalid arguments.
inline std::string errorOf(std::vector<const char *> arguments) {
  const CommandLine line = parse(std::move(arguments));
  const auto *error = std::get_if<UsageError>(&line);
  return error == nullptr ? "no error" : error->command + ": " + error->message;
}

} // namespace heddle::tools

#endif // HEDDLE_TESTS_RUNTIME_TOOLS_PARSEDARGUMENTS_H
