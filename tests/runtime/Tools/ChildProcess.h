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

/// The result of a process.
struct Outcome {
  /// The exit code; negative for a signal.
  int code = 0;
  std::string output;
  std::string error;
  /// The peak memory use.
  long peakKilobytes = 0;
};

/// The options for running a process.
struct ProcessOptions {
  /// The contents of standard input.
  std::string input = {};
  /// The file for standard output; empty: Outcome::output.
  std::string outputPath = {};
  /// Whether standard error is a pipe that was closed by its reader; Outcome::error stays empty.
  bool errorUnread = false;
  /// Whether standard error is a terminal; Outcome::error has its output, at most a few lines.
  bool errorOnTerminal = false;
  /// The maximum size of a file that it writes.
  std::optional<size_t> fileLimit = {};
  /// The seconds of processor time after which it is killed: a time limit that does not depend on
  /// other work on the machine.
  std::optional<unsigned> processorSeconds = {};
  /// Added to its environment, "NAME=value".
  std::vector<std::string> environment = {};
  /// Whether root's right to write anywhere is dropped.
  bool bound = false;
  /// The signal to send, unless the process has ended by then: this many microseconds after it was
  /// started, or after `signalWhen` has become true. 0: none.
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
