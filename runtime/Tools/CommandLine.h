// SPDX-License-Identifier: Apache-2.0
///
/// The command line of `heddle` as plain data: one structure of options per command. All that can
/// be said about the arguments alone is said here; commands meet values that are well formed.
#ifndef HEDDLE_RUNTIME_TOOLS_COMMANDLINE_H
#define HEDDLE_RUNTIME_TOOLS_COMMANDLINE_H

#include "runtime/Tools/Shapes.h"

#include <span>
#include <string>
#include <variant>
#include <vector>

namespace heddle::tools {

/// What every command has.
struct SubcommandOptions {
  /// The compiled model.
  std::string model;
  /// For programs: JSON where there is a choice, and no progress.
  bool json = false;
};

/// heddle embed: texts to embeddings.
struct EmbedOptions : SubcommandOptions {
  /// .txt, .jsonl or "-" for standard input.
  std::string input;
  /// .jsonl, .npy or "-" for standard output.
  std::string output = "-";
  int threads = 1;
  /// The target to run; empty: the best of this machine.
  std::string isa;
};

/// heddle tokenize: texts to token ids, on standard output.
struct TokenizeOptions : SubcommandOptions {
  std::string input;
};

/// heddle run: one entry over tensors.
struct RunOptions : SubcommandOptions {
  /// Empty: the first entry of the model.
  std::string entry;
  std::string inputs;
  std::string outputs;
  int threads = 1;
  std::string isa;
};

/// heddle bench: the speed of one entry.
struct BenchOptions : SubcommandOptions {
  std::vector<Shape> shapes;
  /// A file with one sentence length a line; empty: none.
  std::string lengths;
  std::string entry;
  int threads = 1;
  std::string isa;
  /// Also what every kernel takes, and the bandwidth of the memory.
  bool roofline = false;
  /// Also what every dispatch takes.
  bool profile = false;
};

/// heddle info: what is inside.
struct InfoOptions : SubcommandOptions {};

/// heddle verify: whether all of it is whole.
struct VerifyOptions : SubcommandOptions {};

/// Asked for with --help or --version: goes to standard output.
struct HelpText {
  std::string text;
};

/// Arguments that make no sense. `command` is the one they were given to, or empty.
struct UsageError {
  std::string message;
  std::string command;
};

using CommandLine = std::variant<UsageError, HelpText, EmbedOptions, TokenizeOptions, RunOptions,
                                 BenchOptions, InfoOptions, VerifyOptions>;

/// Reads the arguments of main(), the program's name first.
CommandLine parseCommandLine(std::span<const char *const> arguments);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMMANDLINE_H
