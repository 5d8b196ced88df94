// SPDX-License-Identifier: Apache-2.0
///
/// Runs the programs of this build as a user would: arguments, standard streams, exit code.
#ifndef HEDDLE_TESTS_RUNTIME_TOOLS_CHILDPROCESS_H
#define HEDDLE_TESTS_RUNTIME_TOOLS_CHILDPROCESS_H

#include <cstdint>
#include <functional>
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
  /// The most memory it had at once.
  long peakKilobytes = 0;
};

/// How a process is run.
struct ProcessOptions {
  /// What it reads from standard input.
  std::string input = {};
  /// Where standard output goes; empty: into Outcome::output.
  std::string outputPath = {};
  /// Standard error is a pipe that nobody reads any more; Outcome::error stays empty.
  bool errorUnread = false;
  /// Standard error is a terminal; Outcome::error is what is written there, at most a few lines.
  bool errorOnTerminal = false;
  /// The most bytes a file may have that it writes.
  std::optional<size_t> fileLimit = {};
  /// The seconds of processor time after which it is killed: a test of time that does not depend on
  /// what else the machine does.
  std::optional<unsigned> processorSeconds = {};
  /// Added to its environment, "NAME=value".
  std::vector<std::string> environment = {};
  /// Without root's right to write wherever it wants to.
  bool bound = false;
  /// Sent to it, unless it has ended by then: so many microseconds after it was started, or after
  /// `signalWhen` has come true. 0: none.
  int signal = 0;
  int64_t signalAfter = 0;
  std::function<bool()> signalWhen = {};
};

/// Runs a program of this build, "heddle" or "heddlec", to its end.
Outcome runProgram(const std::string &program, const std::vector<std::string> &arguments,
                   const ProcessOptions &options = {});

inline Outcome runHeddle(const std::vector<std::string> &arguments,
                         const ProcessOptions &options = {}) {
  return runProgram("heddle", arguments, options);
}

} // namespace heddle::tools

#endif // HEDDLE_TESTS_RUNTIME_TOOLS_CHILDPROCESS_H
