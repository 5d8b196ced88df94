// SPDX-License-Identifier: Apache-2.0
///
/// The command line of `heddle` as plain data: one structure of options per command. Everything
/// that can be checked without opening a file is checked here, so that commands start from valid
/// values.
#ifndef HEDDLE_RUNTIME_TOOLS_OPTIONS_COMMANDLINE_H
#define HEDDLE_RUNTIME_TOOLS_OPTIONS_COMMANDLINE_H

#include "runtime/Tools/Commands.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle::tools {

/// The output of --help or --version, for standard output.
struct HelpText {
  std::string text;
};

using CommandLine = std::variant<UsageError, HelpText, EmbedOptions, SimilarityOptions,
                                 RerankOptions, TokenizeOptions, RunOptions, GenerateOptions,
                                 ChatOptions, ScoreOptions, AnalyzeOptions, CompareOptions,
                                 BenchOptions, ProfileOptions, InfoOptions, VerifyOptions>;

/// The program with the declarations of all its commands. Reads one command line.
class DeclaredProgram {
public:
  /// Declares all commands, but only the options of those for which `declares` returns true: a
  /// command that is not called needs none, and declaring all of them takes longer than parsing.
  explicit DeclaredProgram(const std::function<bool(std::string_view command)> &declares =
                               [](std::string_view) { return true; });
  ~DeclaredProgram();

  /// Parses the arguments of main(), beginning with the program's name.
  CommandLine parse(std::span<const char *const> arguments);
  /// Returns the application that manual pages and completion are generated from.
  const CLI::App &application() const { return *app; }
  /// Returns the words that options accept as their values, such as those of --rules.
  std::vector<std::string> acceptedWords() const;

private:
  struct Command;
  template <typename Options>
  void add(const char *name, const char *description,
           const std::function<bool(std::string_view command)> &declares);
  using Arguments = std::span<const char *const>;
  /// `operands` are those behind the mark "--".
  CommandLine readCommand(const Command &command, Arguments arguments, Arguments operands) const;
  size_t findMark(Arguments arguments) const;
  CommandLine parseHelp(std::span<const char *const> arguments);
  UsageError noCommand(std::span<const std::string> rest) const;

  std::unique_ptr<CLI::App> app;
  std::vector<std::unique_ptr<Command>> commands;
};

/// Parses the arguments of main(), beginning with the program's name.
CommandLine parseCommandLine(std::span<const char *const> arguments);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_OPTIONS_COMMANDLINE_H
