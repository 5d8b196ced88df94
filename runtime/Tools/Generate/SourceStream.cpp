// SPDX-License-Identifier: Apache-2.0
///
/// Reads examples according to the rules of `heddle run`, which defines the format of the tensors.
#include "runtime/Tools/Generate/SourceStream.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "formats/Checkpoint/Safetensors.h"
#include "runtime/Session/PagedDecoder.h"
#include "runtime/Tools/Chat/Conversation.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <cstdio>
#include <fmt/format.h>

namespace heddle::tools {

// --- examples --------------------------------------------------------------------------------

Result<TensorExamples> TensorExamples::open(const Model &model, int32_t pad,
                                            const std::string &path) {
  // A generator has checked that the entry exists.
  const bool arePrompts = model.findEntry(encodeEntry) == nullptr;
  const EntryInfo &encode = *model.findEntry(arePrompts ? decodeEntry : encodeEntry);
  HEDDLE_ASSIGN(const PortInfo *const port, chooseInput(model, encode));
  HEDDLE_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(path));
  TensorExamples examples;
  examples.arePrompts = arePrompts;
  HEDDLE_ASSIGN(examples.inputs, readRunInputs(encode, *port, file.tensors(), path, pad));
  // An example is a single sequence; other inputs of the entry are not used.
  std::erase_if(examples.inputs.inputs,
                [&](const RunInput &input) { return input.name != port->name; });
  HEDDLE_ASSIGN(examples.commands, readCommands(*model.findEntry(decodeEntry), examples.count(),
                                                file.tensors(), path));
  if (!examples.commands.empty()) {
    std::erase(examples.inputs.ignored, commandTensor);
  }
  examples.width = port->shape.size() == 1 ? 0 : static_cast<size_t>(port->shape.back());
  for (size_t row = 0; const int32_t length : examples.inputs.batch.lengths) {
    examples.first.push_back(row);
    row += static_cast<size_t>(length);
  }
  return examples;
}

GenerationRequest TensorExamples::requestOf(size_t index, const GenerationOptions &options) const {
  GenerationRequest request;
  request.options = options;
  const RunInput &input = inputs.inputs.front();
  const auto length = static_cast<size_t>(inputs.batch.lengths[index]);
  if (width == 0) {
    const auto part = std::span(input.ids).subspan(first[index], length);
    (arePrompts ? request.prefix : request.source).assign(part.begin(), part.end());
  } else {
    const auto part = std::span(input.rows).subspan(first[index] * width, length * width);
    request.rows.assign(part.begin(), part.end());
    request.width = static_cast<int32_t>(inputs.batch.sizes().widthOf(index));
  }
  if (!commands.empty() && !options.command) {
    request.options.command = commands[index];
  }
  return request;
}

std::string TensorExamples::textOf(size_t index) const {
  if (width != 0) {
    return fmt::format("{} {}", inputs.inputs.front().name, index + 1);
  }
  const GenerationRequest request = requestOf(index, {});
  return tokenLine(arePrompts ? request.prefix : request.source);
}

// --- both ------------------------------------------------------------------------------------

Result<SourceStream> SourceStream::openExamples(const GenerateOptions &options, const Model &model,
                                                int32_t pad) {
  SourceStream stream;
  HEDDLE_ASSIGN(TensorExamples examples, TensorExamples::open(model, pad, options.inputs));
  for (const std::string &name : examples.ignored()) {
    const std::string note =
        fmt::format("heddle: note: tensor {} is no input of entry {}: ignored\n", quote(name),
                    quote(PagedDecoder::hasSources(model) ? encodeEntry : decodeEntry));
    std::fputs(note.c_str(), stderr);
  }
  stream.title = options.inputs;
  stream.count = static_cast<int64_t>(examples.count());
  stream.examples = std::move(examples);
  return stream;
}

Result<SourceStream> SourceStream::openLines(const GenerateOptions &options) {
  SourceStream stream;
  if (!options.prompt.empty()) {
    const std::string problem = describeInvalidUtf8(options.prompt);
    if (!problem.empty()) {
      return optionError(fmt::format("--prompt: {}", problem));
    }
    stream.title = "--prompt";
    stream.count = 1;
    stream.text = options.prompt;
    if (options.chat) {
      Conversation conversation("");
      conversation.addQuestion(options.prompt);
      stream.text = conversation.json();
    }
    return stream;
  }
  // Conversations are lines of JSON, whatever the name of their file.
  HEDDLE_ASSIGN(LineReader lines,
                openSources(options.input, options.tokens || options.chat, options.inputFormat));
  HEDDLE_ASSIGN(stream.count, countTexts(options.input));
  stream.title = lines.name();
  stream.lines.emplace(std::move(lines));
  return stream;
}

Result<bool> SourceStream::ready(int milliseconds) {
  return lines ? lines->ready(milliseconds) : Result<bool>(true);
}

Result<std::optional<Line>> SourceStream::next() {
  if (lines) {
    return lines->next();
  }
  if (taken == (examples ? examples->count() : 1) || interrupted()) {
    return std::optional<Line>();
  }
  text = examples ? examples->textOf(taken) : text;
  ++taken;
  return std::optional(Line{.text = text});
}

std::string SourceStream::where() const { return lines ? lines->where() : placeOf(taken - 1); }

std::string SourceStream::placeOf(size_t number) const {
  if (!lines && !examples) {
    return title;
  }
  return fmt::format("{}:{}{}", title, examples ? " example " : "", number + 1);
}

Result<GenerationRequest> SourceStream::request(const Generator &generator,
                                                const GenerateOptions &options,
                                                std::string_view line) const {
  if (examples) {
    return examples->requestOf(taken - 1, options.generation);
  }
  HEDDLE_ASSIGN(std::vector<int32_t> ids, options.chat
                                              ? generator.encodeChat(line, options.chatTemplate)
                                              : sourceTokens(generator, options, line));
  GenerationOptions asked = options.generation;
  asked.events = options.streams();
  return requestFor(generator, std::move(ids), asked);
}

} // namespace heddle::tools
