// SPDX-License-Identifier: Apache-2.0
///
/// Runs the program `heddle` of this build as a user would: arguments, standard streams, exit code.
#ifndef HEDDLE_TESTS_RUNTIME_TOOLS_CHILDPROCESS_H
#define HEDDLE_TESTS_RUNTIME_TOOLS_CHILDPROCESS_H

#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

/// What a process left behind.
struct Outcome {
  /// The exit code; negative for a signal.
  int code = 0;
  std::string output;
  std::string error;
};

/// How a process is run.
struct ProcessOptions {
  /// What it reads from standard input.
  std::string input = {};
  /// Where standard output goes; empty: into Outcome::output.
  std::string outputPath = {};
  /// The most bytes a file may have that it writes.
  std::optional<size_t> fileLimit = {};
};

/// Runs heddle to its end.
Outcome runHeddle(const std::vector<std::string> &arguments, const ProcessOptions &options = {});

} // namespace heddle::tools

#endif // HEDDLE_TESTS_RUNTIME_TOOLS_CHILDPROCESS_H
