// SPDX-License-Identifier: Apache-2.0
///
/// Options as they were written, before anything is known of their values, and what the readers of
/// all commands share.
#ifndef HEDDLE_RUNTIME_TOOLS_RAWOPTIONS_H
#define HEDDLE_RUNTIME_TOOLS_RAWOPTIONS_H

#include "runtime/Tools/CommandLine.h"

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

/// All options of all commands.
struct RawOptions {
  std::string model, input, output, inputs, outputs, entry, isa, shapes, lengths;
  std::string threads = "1";
  // Of analysis.
  std::string other, svg, theta, blocks;
  bool json = false, roofline = false, profile = false;
  std::string by, runs, trace;
  // Of generation.
  std::string source, target, prefix, shortlist, beam, nbest, rules, lengthPenalty, coveragePenalty,
      minLength, maxLength, noRepeatNgram, repetitionPenalty, temperature, topK, topP, seed,
      batchTokens, cache, format, cases, sourceLength, targetLength;
  // Of lines.
  std::string onError;
  bool truncate = false;
  bool sample = false, earlyStopping = false, alternatives = false, scores = false, tokens = false;
};

/// An error of the command that `app` is.
UsageError usage(const CLI::App &app, std::string message);

/// The first of `names` that was not given, as an error.
std::optional<UsageError> missing(const CLI::App &app, std::initializer_list<const char *> names);

/// The first of `names` that was given, as an error: without `needed` it means nothing.
std::optional<UsageError> without(const CLI::App &app, const char *needed,
                                  std::initializer_list<const char *> names);

/// --threads as a number; zero when it is none that is allowed.
int threadsOf(const std::string &text);
UsageError badThreads(const CLI::App &app, const std::string &text);

/// --input, where a text file's name must say what its lines are.
std::optional<UsageError> badInputName(const CLI::App &app, const std::string &path);

void declareModel(CLI::App &app, RawOptions &raw);
void declareExecution(CLI::App &app, RawOptions &raw);

/// What becomes of lines that cannot be used, and of those that are too long.
void declareOnError(CLI::App &app, RawOptions &raw, const char *whatContinues);
std::optional<UsageError> readOnError(const CLI::App &app, const RawOptions &raw, OnError &onError);
void declareTruncate(CLI::App &app, RawOptions &raw);

void declareGenerate(CLI::App &app, RawOptions &raw);
CommandLine readGenerate(const CLI::App &app, const RawOptions &raw);
void declareScore(CLI::App &app, RawOptions &raw);
CommandLine readScore(const CLI::App &app, const RawOptions &raw);
void declareAnalyze(CLI::App &app, RawOptions &raw);
CommandLine readAnalyze(const CLI::App &app, const RawOptions &raw);
void declareCompare(CLI::App &app, RawOptions &raw);
CommandLine readCompare(const CLI::App &app, const RawOptions &raw);
void declareBench(CLI::App &app, RawOptions &raw);
CommandLine readBench(const CLI::App &app, const RawOptions &raw);
void declareProfile(CLI::App &app, RawOptions &raw);
CommandLine readProfile(const CLI::App &app, const RawOptions &raw);

/// Declares the program with all its commands and options; the commands in the order of --help.
std::vector<CLI::App *> declareCommands(CLI::App &app, RawOptions &raw);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RAWOPTIONS_H
