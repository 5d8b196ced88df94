// SPDX-License-Identifier: Apache-2.0
///
/// The commands of `heddle`, one file each. They write results to standard output or files, and
/// answer what went wrong; messages and exit codes are main()'s.
#ifndef HEDDLE_RUNTIME_TOOLS_COMMANDS_H
#define HEDDLE_RUNTIME_TOOLS_COMMANDS_H

#include "heddle/Session.h"
#include "runtime/Tools/CommandLine.h"
#include "runtime/Tools/TokenLine.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

Status execute(const EmbedOptions &options);
Status execute(const TokenizeOptions &options);
Status execute(const GenerateOptions &options);
Status execute(const ScoreOptions &options);
Status execute(const AnalyzeOptions &options);
Status execute(const CompareOptions &options);
Status execute(const RunOptions &options);
Status execute(const BenchOptions &options);
Status execute(const ProfileOptions &options);
Status execute(const InfoOptions &options);
Status execute(const VerifyOptions &options);

/// Measures generation: the cases of `heddle bench`.
Status benchCases(const Model &model, const BenchOptions &options);

/// A failure that an option is to blame for: the message names it and the way out, and the exit
/// code is that of a wrong command line, whenever it is found.
Status optionError(std::string message);
bool isOptionError(const Status &status);

/// A model for the target --isa names; a target that this binary or machine does not have is an
/// option's failure.
Result<Model> loadModel(const std::string &path, const std::string &isa);

/// The entry that --entry names, as chooseEntry() does.
Result<const EntryInfo *> chooseNamedEntry(const Model &model, const std::string &name);

/// The entry of that name, or the first for an empty name; NotFound lists what there is.
Result<const EntryInfo *> chooseEntry(const Model &model, std::string_view name);

/// The input of an entry that gives a batch its shape: the first that must be given.
Result<const PortInfo *> chooseInput(const Model &model, const EntryInfo &entry);

/// InvalidArgument for a model without a tokenizer; `expected` ends the message.
Status checkTokenizer(const Model &model, std::string_view expected = "one or --tokens");

/// Whether the batches of --shapes fit an entry.
Status checkShapes(const EntryInfo &entry, std::span<const Shape> shapes);

/// Whether an entry takes the ids of one text: their number, and each of them.
Status checkText(const EntryInfo &entry, const PortInfo &input, std::span<const int32_t> ids);

/// OutOfRange for a text of more than `longest` tokens, unless that is 0.
Status checkLength(std::string_view what, int64_t count, int64_t longest);

/// The ids of a source as a line has it: of a text, or the line's own, as `options` say.
template <typename Options>
Result<std::vector<int32_t>> sourceTokens(const Generator &generator, const Options &options,
                                          std::string_view line) {
  const int64_t longest = generator.longestSource();
  HEDDLE_ASSIGN(std::vector<int32_t> ids, options.tokens
                                              ? parseTokenLine(line, options.truncate ? longest : 0)
                                              : generator.encodeSource(line, options.truncate));
  HEDDLE_TRY(checkLength("source", static_cast<int64_t>(ids.size()), longest));
  return ids;
}

/// The same for an entry of a model that does not generate.
template <typename Options>
Result<std::vector<int32_t>> textTokens(const Model &model, const EntryInfo &entry,
                                        const Options &options, std::string_view line) {
  const int64_t most = options.truncate ? entry.maxLength : 0;
  HEDDLE_ASSIGN(std::vector<int32_t> ids,
                options.tokens ? parseTokenLine(line, most) : model.tokenize(line, most));
  HEDDLE_TRY(checkLength("text", static_cast<int64_t>(ids.size()), entry.maxLength));
  return ids;
}

/// Floats of one row of an output: the product of its constant dimensions.
int64_t rowWidth(const PortInfo &output);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMMANDS_H
