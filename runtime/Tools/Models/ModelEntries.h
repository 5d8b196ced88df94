// SPDX-License-Identifier: Apache-2.0
///
/// Queries on a model that several commands share: which entry and input to use, and whether a text
/// or an option fits it. Messages name the option that caused a failure.
#ifndef HEDDLE_RUNTIME_TOOLS_MODELS_MODELENTRIES_H
#define HEDDLE_RUNTIME_TOOLS_MODELS_MODELENTRIES_H

#include "heddle/Generation.h"
#include "heddle/Session.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// Returns a failure that an option caused. The message names the option and the remedy, and the
/// exit code is that of an invalid command line, however late the failure is found.
Status optionError(std::string message);
bool isOptionError(const Status &status);

/// Loads the model on the device of --device, for the target of --isa. An option error if there is
/// no such device, or if the binary or the device does not have the target.
Result<Model> loadModel(const std::string &path, const ExecutionOptions &options);

/// Returns the kept layers in the syntax of heddlec's option: "layer.4=int8".
std::vector<std::string> keptLayersOf(const Model &model);

/// Returns the precision of a model and of its kept layers, in one line: "int4, layer.4=int8".
std::string precisionText(std::string_view precision, std::span<const std::string> kept);

/// Returns the entry that --entry names, as chooseEntry() does.
Result<const EntryInfo *> chooseNamedEntry(const Model &model, const std::string &name);

/// Returns the entry of that name, or the first if the name is empty; NotFound lists the entries.
Result<const EntryInfo *> chooseEntry(const Model &model, std::string_view name);

/// The entry that a command needs; the message says what a model without it does not do.
Result<const EntryInfo *> requireEntry(const Model &model, std::string_view name,
                                       std::string_view does, std::string_view expected);

/// The input of an entry that gives a batch its shape: the first that must be given.
Result<const PortInfo *> chooseInput(const Model &model, const EntryInfo &entry);
/// As chooseInput(), for commands that pass the ids of texts; Unsupported if it takes rows of
/// floats.
Result<const PortInfo *> chooseIds(const Model &model, const EntryInfo &entry);

/// Checks that a model has a tokenizer; InvalidArgument with a message that ends in `expected`.
Status checkTokenizer(const Model &model, std::string_view expected = "one or --tokens");

/// Checks that a model supports conversations: it continues prompts, and has the chat template of
/// that name, or any if the name is empty.
Status checkChat(const Model &model, std::string_view chatTemplate);

/// Checks that an entry accepts the ids of one text: their number, and each of them.
Status checkText(const EntryInfo &entry, const PortInfo &input, std::span<const int32_t> ids);

/// Checks that a text has at most `longest` tokens, unless that is 0; otherwise OutOfRange.
Status checkLength(std::string_view what, int64_t count, int64_t longest);

/// Returns the ids of a source, or of a prompt if the model continues these, for a line: a text, or
/// the ids themselves if options.tokens.
Result<std::vector<int32_t>> sourceTokens(const Generator &generator, const SourceOptions &options,
                                          std::string_view line);

/// Checks the languages of a command line. A model without a default target language needs one,
/// unless targets are tokens (`areTokens`), which may begin with it.
Status checkLanguages(const Model &model, const std::string &source, const std::string &target,
                      bool areTokens);

/// Returns a request to answer or continue these ids.
GenerationRequest requestFor(const Generator &generator, std::vector<int32_t> ids,
                             const GenerationOptions &options);

/// Checks that sampling parameters are given only if the search samples, by request or by the
/// model's default.
Status checkSampling(const Generator &generator, const GenerationOptions &options);

/// Reads a file with a JSON schema; empty if its path is empty.
Result<std::string> readSchema(const std::string &path);
/// Checks that a model supports the schema of a request, which was read from `path`.
Status checkSchema(const Generator &generator, const GenerationRequest &request,
                   const std::string &path);

/// As sourceTokens(), for an entry of a model that does not generate.
Result<std::vector<int32_t>> textTokens(const Model &model, const EntryInfo &entry,
                                        const SourceOptions &options, std::string_view line);

/// Returns the floats of one row of an output: the product of its constant dimensions.
int64_t rowWidth(const PortInfo &output);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MODELS_MODELENTRIES_H
