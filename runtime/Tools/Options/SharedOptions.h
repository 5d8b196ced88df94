// SPDX-License-Identifier: Apache-2.0
///
/// Options that several commands have, each group with its declaration. A command's own structure
/// of options inherits the groups it needs and adds its own fields.
#ifndef HEDDLE_RUNTIME_TOOLS_OPTIONS_SHAREDOPTIONS_H
#define HEDDLE_RUNTIME_TOOLS_OPTIONS_SHAREDOPTIONS_H

#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Options/OptionList.h"

#include <optional>
#include <string>

namespace heddle::tools {

/// More tokens than any text has.
inline constexpr int32_t mostTokens = 1 << 24;

/// What every command has.
struct SubcommandOptions {
  /// The compiled model.
  std::string model;
  /// For programs: JSON where there is a choice, and no progress.
  bool json = false;
};
void declareModel(OptionList &list, SubcommandOptions &options);

/// How a model is run.
struct ExecutionOptions {
  int threads = 1;
  /// The target to run; empty: the best of the device.
  std::string isa;
  /// ModelOptions::device.
  std::string device;
};
void declareExecution(OptionList &list, ExecutionOptions &options);

/// --input of commands that answer every text. A name that ends in .jsonl says that lines are
/// objects; lines of any other file are texts.
DeclaredOption &declareTexts(OptionList &list, std::string &input);

/// What happens to a line that cannot be used. `answer` says in the help what it gets where the run
/// goes on.
void declareOnError(OptionList &list, OnError &onError, const char *answer);

/// How the sources of a model that translates are read.
struct SourceOptions {
  /// Lines are ids, not texts.
  bool tokens = false;
  /// Sources that are too long are cut.
  bool truncate = false;
  OnError onError = OnError::Continue;
};
void declareSources(OptionList &list, SourceOptions &options, const char *answer);

/// The languages of sources and targets, of a model that translates between several.
void declareLanguages(OptionList &list, std::string &source, std::string &target);

/// Texts that a model is examined with, by `heddle analyze` and `heddle compare`.
struct CorpusOptions : SourceOptions, ExecutionOptions {
  /// One text a line, or "-".
  std::string input;
  /// Hypotheses of the search whose best text is looked at; unset: as the binary says.
  std::optional<int32_t> beam;
};
void declareCorpus(OptionList &list, CorpusOptions &options);

/// Where `heddle generate` and `heddle score` write their answers, and how many lines they answer
/// at once.
struct AnswerOptions {
  /// A file, or "-" for standard output.
  std::string output = "-";
  int64_t batchTokens = 4096;
  /// JSON lines instead of plain ones.
  bool jsonLines = false;
};
void declareBatchTokens(OptionList &list, AnswerOptions &options, const char *help);
/// --format; `json` is the command's --json, which means JSON lines as well.
void declareFormat(OptionList &list, AnswerOptions &options, const bool &json, const char *help);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_OPTIONS_SHAREDOPTIONS_H
