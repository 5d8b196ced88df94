// SPDX-License-Identifier: Apache-2.0
///
/// heddlec's command line: every option is declared once, with its help and what it means for the
/// request. Apart from LLVM's own parser, whose global options claim names like --stop-after.
#ifndef HEDDLE_COMPILER_TOOLS_COMMANDLINE_H
#define HEDDLE_COMPILER_TOOLS_COMMANDLINE_H

#include "compiler/Compile.h"

#include <optional>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace heddle {

/// What heddlec is to do: a request, and where the parts of its result go.
struct CommandLine {
  CompileRequest request;
  /// The binary, or the program after --stop-after; empty: standard output.
  std::string output;
  std::string reportFile;
  /// A phase whose program is printed.
  std::optional<Phase> emit;
  std::optional<Phase> stopAfter;
  /// What is wrong with a value, if anything is.
  std::string problem;
};

/// Declares the program's options, which are read into `line`.
void declareOptions(CLI::App &app, CommandLine &line);

/// Parses the arguments into a request that has every path and phase it needs. An exit code when
/// the program is to end here: 0 after --help or --version, 1 if that could not be written, 2 after
/// a message about wrong usage.
std::optional<int> parseCommandLine(int argc, char **argv, CommandLine &line);

} // namespace heddle

#endif // HEDDLE_COMPILER_TOOLS_COMMANDLINE_H
