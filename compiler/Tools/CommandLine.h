// SPDX-License-Identifier: Apache-2.0
///
/// heddlec's command line: every option is declared once, with its help and its effect on the
/// request. Does not use LLVM's parser, whose global options reserve names like --stop-after.
#ifndef HEDDLE_COMPILER_TOOLS_COMMANDLINE_H
#define HEDDLE_COMPILER_TOOLS_COMMANDLINE_H

#include "compiler/Compile.h"

#include <optional>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace heddle {

/// A request, and where the parts of its result are written.
struct CommandLine {
  CompileRequest request;
  /// The file for the binary, or for the program after --stop-after; empty: standard output.
  std::string output;
  std::string reportFile;
  /// A phase whose program is printed.
  std::optional<Phase> emit;
  std::optional<Phase> stopAfter;
  /// An error in a value, if there is one.
  std::string problem;
};

/// Declares the program's options, which are parsed into `line`.
void declareOptions(CLI::App &app, CommandLine &line);

/// Parses the arguments into a request with all required paths and phases. Returns an exit code if
/// the program is to end: 0 after --help or --version, 1 if their text could not be written, 2
/// after a message about wrong usage.
std::optional<int> parseCommandLine(int argc, char **argv, CommandLine &line);

} // namespace heddle

#endif // HEDDLE_COMPILER_TOOLS_COMMANDLINE_H
