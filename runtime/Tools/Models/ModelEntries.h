// SPDX-License-Identifier: Apache-2.0
///
/// Questions that several commands ask of a model: which entry and input to use, and whether a text
/// or an option fits it. Messages name the option that is to blame.
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

/// A failure that an option is to blame for. The message names the option and the way out, and the
/// exit code is that of a wrong command line however late it is found.
Status optionError(std::string message);
bool isOptionError(const Status &status);

/// The model, on the device that --device names, for the target that --isa names. A device that has
/// no such name is an option's failure, as is a target that this binary or device does not have.
Result<Model> loadModel(const std::string &path, const ExecutionOptions &options);

/// Layers of other precisions than the model's, as heddlec was asked for them: "layer.4=int8".
std::vector<std::string> keptLayersOf(const Model &model);

/// The precision of a model and of such layers, in one line: "int4, layer.4=int8".
std::string precisionText(std::string_view precision, std::span<const std::string> kept);

/// The entry that --entry names, as chooseEntry() does.
Result<const EntryInfo *> chooseNamedEntry(const Model &model, const std::string &name);

/// The entry of that name, or the first for an empty name; NotFound lists what there is.
Result<const EntryInfo *> chooseEntry(const Model &model, std::string_view name);

/// The input of an entry that gives a batch its shape: the first that must be given.
Result<const PortInfo *> chooseInput(const Model &model, const EntryInfo &entry);
/// The same for commands that give it the ids of texts; Unsupported if it takes rows of floats.
Result<const PortInfo *> chooseIds(const Model &model, const EntryInfo &entry);

/// InvalidArgument for a model without a tokenizer; `expected` ends the message.
Status checkTokenizer(const Model &model, std::string_view expected = "one or --tokens");

/// Whether a model has conversations: it continues prompts, and has the chat template of that name,
/// or any if that is empty.
Status checkChat(const Model &model, std::string_view chatTemplate);

/// Whether an entry takes the ids of one text: their number, and each of them.
Status checkText(const EntryInfo &entry, const PortInfo &input, std::span<const int32_t> ids);

/// OutOfRange for a text of more than `longest` tokens, unless that is 0.
Status checkLength(std::string_view what, int64_t count, int64_t longest);

/// The ids of a source, or of a prompt where the model continues those, given its line: a text, or
/// the ids themselves where options.tokens.
Result<std::vector<int32_t>> sourceTokens(const Generator &generator, const SourceOptions &options,
                                          std::string_view line);

/// Checks the languages that a command line names. A model without a default target needs one,
/// unless targets `areTokens`, which may begin with it.
Status checkLanguages(const Model &model, const std::string &source, const std::string &target,
                      bool areTokens);

/// Asks for an answer to such ids, or for their continuation.
GenerationRequest requestFor(const Generator &generator, std::vector<int32_t> ids,
                             const GenerationOptions &options);

/// Numbers of sampling are given only to a search that draws tokens, because it was asked to or
/// because the model does.
Status checkSampling(const Generator &generator, const GenerationOptions &options);

/// The text of a file with a JSON schema; empty if its name is.
Result<std::string> readSchema(const std::string &path);
/// Checks that a model can answer as the schema of a request says, which is that of a file.
Status checkSchema(const Generator &generator, const GenerationRequest &request,
                   const std::string &path);

/// The same as sourceTokens() for an entry of a model that does not generate.
Result<std::vector<int32_t>> textTokens(const Model &model, const EntryInfo &entry,
                                        const SourceOptions &options, std::string_view line);

/// Floats of one row of an output: the product of its constant dimensions.
int64_t rowWidth(const PortInfo &output);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MODELS_MODELENTRIES_H
