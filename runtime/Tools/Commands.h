// SPDX-License-Identifier: Apache-2.0
///
/// The commands of `heddle`, one file each. They write results to standard output or files, and
/// answer what went wrong; messages and exit codes are main()'s.
#ifndef HEDDLE_RUNTIME_TOOLS_COMMANDS_H
#define HEDDLE_RUNTIME_TOOLS_COMMANDS_H

#include "heddle/Session.h"
#include "runtime/Tools/CommandLine.h"

#include <string_view>

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

/// The entry of that name, or the first for an empty name; NotFound lists what there is.
Result<const EntryInfo *> chooseEntry(const Model &model, std::string_view name);

/// The input of an entry that gives a batch its shape: the first that must be given.
Result<const PortInfo *> chooseInput(const Model &model, const EntryInfo &entry);

/// InvalidArgument for a model without a tokenizer; `expected` ends the message.
Status checkTokenizer(const Model &model, std::string_view expected = "one or --tokens");

/// Floats of one row of an output: the product of its constant dimensions.
int64_t rowWidth(const PortInfo &output);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMMANDS_H
