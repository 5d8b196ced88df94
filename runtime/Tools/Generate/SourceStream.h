// SPDX-License-Identifier: Apache-2.0
///
/// What `heddle generate` reads: the lines of a stream, the examples of a file of tensors, or one
/// prompt of the command line. One after the other, with the same rules of order and of what
/// messages call each.
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

/// The examples of a safetensors file, one for each first index of its tensors, which are named as
/// the input of "encode" or, where a model continues prompts, of "decode": ids that end in padding,
/// or rows of floats, of which NAME.length says how many count; and "command", where the model has
/// several tasks.
class TensorExamples {
public:
  /// `pad` is Generator::sourcePad().
  static Result<TensorExamples> open(const Model &model, int32_t pad, const std::string &path);

  size_t count() const { return inputs.batch.lengths.size(); }
  /// What answers call an example: its ids, or its name and number.
  std::string textOf(size_t index) const;
  /// The values of an example as a source or prompt, and its command.
  GenerationRequest requestOf(size_t index, const GenerationOptions &options) const;
  /// The tensors that nothing is made of.
  const std::vector<std::string> &ignored() const { return inputs.ignored; }

private:
  RunInputs inputs;
  bool arePrompts = false;
  /// Floats of a row; 0: ids.
  size_t width = 0;
  /// The first row of each example.
  std::vector<size_t> first;
  std::vector<int32_t> commands;
};

/// Lines, examples, or one prompt.
class SourceStream {
public:
  /// Those of --input or --prompt, and those of --inputs.
  static Result<SourceStream> openLines(const GenerateOptions &options);
  static Result<SourceStream> openExamples(const GenerateOptions &options, const Model &model,
                                           int32_t pad);

  /// As LineReader has them.
  Result<bool> ready(int milliseconds);
  Result<std::optional<Line>> next();
  const std::string &name() const { return title; }
  std::string where() const;

  /// What messages call the source with this number, from 0 on.
  std::string placeOf(size_t number) const;
  /// How many there are, where that is known.
  std::optional<int64_t> total() const { return count; }
  /// What is asked of the source that next() gave last.
  Result<GenerationRequest> request(const Generator &generator, const GenerateOptions &options,
                                    std::string_view line) const;

private:
  std::string title;
  std::optional<int64_t> count;
  /// Neither: `text` is the prompt.
  std::optional<LineReader> lines;
  std::optional<TensorExamples> examples;
  /// Examples or prompts that next() has given, and the text of the last.
  size_t taken = 0;
  std::string text;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_GENERATE_SOURCESTREAM_H
