// SPDX-License-Identifier: Apache-2.0
///
/// Options that several commands share, each group with its declaration. A command's own structure
/// of options inherits the groups that it needs and adds its own fields.
#ifndef HEDDLE_RUNTIME_TOOLS_OPTIONS_SHAREDOPTIONS_H
#define HEDDLE_RUNTIME_TOOLS_OPTIONS_SHAREDOPTIONS_H

#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/Progress.h"
#include "runtime/Tools/Options/OptionList.h"

#include <optional>
#include <string>

namespace heddle::tools {

/// More tokens than any text has.
inline constexpr int32_t mostTokens = 1 << 24;

/// The options of every command.
struct SubcommandOptions {
  /// The compiled model.
  std::string model;
  /// Selects output for programs: JSON where there is a choice, and no progress.
  bool json = false;
};
void declareModel(OptionList &list, SubcommandOptions &options);

/// The options for running a model.
struct ExecutionOptions {
  int threads = 1;
  /// The target to run; empty: the best of the device.
  std::string isa;
  /// ModelOptions::device.
  std::string device;
};
void declareExecution(OptionList &list, ExecutionOptions &options);

/// Declares --input-format, for inputs whose name does not say what their lines are, such as
/// standard input.
DeclaredOption &declareInputFormat(OptionList &list, LineFormat &format);

/// Adds the check that --input-format and --tokens are not both given: ids have one format.
void refuseFormatOfTokens(OptionList &list);

/// Texts that a command answers one by one.
struct TextOptions {
  /// .txt, .jsonl or "-" for standard input.
  std::string input;
  LineFormat inputFormat = LineFormat::ByName;
};
/// Declares --input, which is required, and --input-format.
void declareTexts(OptionList &list, TextOptions &options);

/// Declares --on-error, the handling of a line that cannot be used. `answer` describes in the help
/// what is written for it if the run continues.
void declareOnError(OptionList &list, OnError &onError, const char *answer);

/// How the sources of a model that translates are read.
struct SourceOptions {
  LineFormat inputFormat = LineFormat::ByName;
  /// Whether lines are ids instead of texts.
  bool tokens = false;
  /// Whether sources that are too long are truncated.
  bool truncate = false;
  OnError onError = OnError::Continue;
};
void declareSources(OptionList &list, SourceOptions &options, const char *answer);

/// Declares the languages of sources and targets, for a model that translates between several.
void declareLanguages(OptionList &list, std::string &source, std::string &target);

/// Texts that a model is examined with, by `heddle analyze` and `heddle compare`.
struct CorpusOptions : SourceOptions, ExecutionOptions {
  /// A file with one text per line, or "-".
  std::string input;
  /// The hypotheses of the search whose best text is examined; unset: the binary's default.
  std::optional<int32_t> beam;
};
void declareCorpus(OptionList &list, CorpusOptions &options);

/// The output of `heddle generate` and `heddle score`, and the number of lines that they answer at
/// once.
struct AnswerOptions {
  /// A file, or "-" for standard output.
  std::string output = "-";
  int64_t batchTokens = 4096;
  /// Whether the output is JSON lines instead of plain ones.
  bool jsonLines = false;
};
void declareBatchTokens(OptionList &list, AnswerOptions &options, const char *help);
/// Declares --format; `json` is the command's --json, which also selects JSON lines.
void declareFormat(OptionList &list, AnswerOptions &options, const bool &json, const char *help);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_OPTIONS_SHAREDOPTIONS_H
