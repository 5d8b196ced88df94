// SPDX-License-Identifier: Apache-2.0
///
/// The input of `heddle generate`: the lines of a stream, the examples of a file of tensors, or one
/// prompt of the command line. Items are read one after another, with common rules for their order
/// and their names in messages.
#ifndef HEDDLE_RUNTIME_TOOLS_GENERATE_SOURCESTREAM_H
#define HEDDLE_RUNTIME_TOOLS_GENERATE_SOURCESTREAM_H

#include "heddle/Generation.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Run/RunTensors.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

/// The examples of a safetensors file, one for each first index of its tensors. A tensor is named
/// like the input of "encode" or, if the model continues prompts, of "decode": ids that end in
/// padding, or rows of floats, of which NAME.length gives the number. A model with several tasks
/// also takes "command".
class TensorExamples {
public:
  /// `pad` is Generator::sourcePad().
  static Result<TensorExamples> open(const Model &model, int32_t pad, const std::string &path);

  size_t count() const { return inputs.batch.lengths.size(); }
  /// Returns the text of an example in answers: its ids, or its name and number.
  std::string textOf(size_t index) const;
  /// Returns a request with the values of an example as source or prompt, and its command.
  GenerationRequest requestOf(size_t index, const GenerationOptions &options) const;
  /// Returns the names of the tensors that are not used.
  const std::vector<std::string> &ignored() const { return inputs.ignored; }

private:
  RunInputs inputs;
  bool arePrompts = false;
  /// The floats of a row; 0: ids.
  size_t width = 0;
  /// The first row of each example.
  std::vector<size_t> first;
  std::vector<int32_t> commands;
};

/// Lines, examples, or one prompt.
class SourceStream {
public:
  /// Open the lines of --input or --prompt, and the examples of --inputs.
  static Result<SourceStream> openLines(const GenerateOptions &options);
  static Result<SourceStream> openExamples(const GenerateOptions &options, const Model &model,
                                           int32_t pad);

  /// As in LineReader.
  Result<bool> ready(int milliseconds);
  Result<std::optional<Line>> next();
  const std::string &name() const { return title; }
  std::string where() const;

  /// Returns the name of a source in messages, by its number, from 0.
  std::string placeOf(size_t number) const;
  /// Returns the number of sources, if it is known.
  std::optional<int64_t> total() const { return count; }
  /// Returns the request for the source that next() returned last.
  Result<GenerationRequest> request(const Generator &generator, const GenerateOptions &options,
                                    std::string_view line) const;

private:
  std::string title;
  std::optional<int64_t> count;
  /// Neither is set for --prompt: `text` is the prompt.
  std::optional<LineReader> lines;
  std::optional<TensorExamples> examples;
  /// The number of examples or prompts that next() has returned, and the text of the last.
  size_t taken = 0;
  std::string text;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_GENERATE_SOURCESTREAM_H
