// SPDX-License-Identifier: Apache-2.0
///
/// The words of heddlec's command line, as given; what they mean is checked by the tool. Apart from
/// LLVM's own parser, whose global options claim names like --stop-after.
#ifndef HEDDLE_COMPILER_TOOLS_COMMANDLINE_H
#define HEDDLE_COMPILER_TOOLS_COMMANDLINE_H

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace heddle {

struct CommandLine {
  std::string input;
  std::string output;
  std::string targets = "x86-64-v3,x86-64-v4";
  /// Whether they are those of the command line.
  bool hasTargets = false;
  std::string precision = "f32";
  std::string emitPhase;
  std::string stopAfter;
  std::string startAt;
  std::string weights;
  std::string reportFile;
  std::string sharing;
  std::string analysisFile;
  std::vector<std::string> disabledPasses;
};

/// Declares the program's options, which are read into `line`.
void declareOptions(CLI::App &app, CommandLine &line);

/// Parses the arguments. An exit code when the program is to end here: 0 after --help or --version,
/// 1 if that could not be written, 2 after a message about wrong usage.
std::optional<int> parseCommandLine(int argc, char **argv, CommandLine &line);

} // namespace heddle

#endif // HEDDLE_COMPILER_TOOLS_COMMANDLINE_H
