// SPDX-License-Identifier: Apache-2.0
///
/// Runs the tensors of one file through one entry, or through encoder and decoder, and writes the
/// outputs to another file.
#include "runtime/Tools/Commands.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Session.h"
#include "runtime/Session/PagedDecoder.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Models/TeacherForcing.h"
#include "runtime/Tools/Run/RunLinked.h"
#include "runtime/Tools/Run/RunRectangle.h"
#include "runtime/Tools/Run/RunTensors.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

void declare(OptionList &list, RunOptions &options) {
  declareModel(list, options);
  list.text("--entry", options.entry, "NAME", "The function of the model to run")
      .otherwise("the first; encode and decode where a model generates");
  list.file("--inputs", options.inputs,
            "safetensors with the inputs, named as 'heddle info' lists them (input_ids; of a model "
            "that generates, source and target, or the prompt that it continues): [B,S] and, where "
            "there is padding, "
            "attention_mask [B,S] or NAME.length [B]; or, of one entry, [tokens] and lengths "
            "[sequences]; rows of floats have their width as one dimension more, pixels are "
            "[B,height,width,channels] and spectra [B,frames,bins], whose NAME.length counts rows "
            "of these; images of any width have NAME.width [B] too")
      .required()
      .hinted();
  list.file("--outputs", options.outputs,
            "safetensors with all outputs of the entry, by name, or of encode and decode: logits, "
            "attention [B,T,S] and others; NAME.lengths says how many "
            "rows each sequence has where they are neither its tokens nor one")
      .required()
      .hinted()
      .written();
  declareExecution(list, options);
}

// --- encoder-decoder models: sources through "encode", given targets through "decode"
// ---------------

/// Returns whether runDecoder() runs a model if no entry is named.
static bool isDecoderModel(const Model &model) { return PagedDecoder::supports(model); }

/// Reads the inputs of "encode". If padding is not marked otherwise, sources end in tokens `pad`.
static Result<RunInputs> readSources(const Model &model, const EntryInfo &entry,
                                     const PortInfo &shaping,
                                     std::span<const SafetensorsTensor> tensors,
                                     std::string_view where, int32_t pad) {
  if (isOverRectangles(entry)) {
    HEDDLE_ASSIGN(RectangleInputs read, readRectangle(model, entry, shaping, tensors, where));
    return std::move(read.inputs);
  }
  return readRunInputs(entry, shaping, tensors, where, pad);
}

/// Reads the inputs of "decode", ignoring the marks of the source's padding.
static Result<RunInputs> readTargets(const Model &model, const EntryInfo &entry,
                                     const PortInfo &shaping,
                                     std::span<const SafetensorsTensor> tensors,
                                     std::string_view where) {
  std::vector<SafetensorsTensor> kept;
  for (const SafetensorsTensor &tensor : tensors) {
    if (tensor.name != "attention_mask" && tensor.name != "lengths") {
      kept.push_back(tensor);
    }
  }
  return readSources(model, entry, shaping, kept, where, -1);
}

/// Returns each sequence's part of `values`, `width` values per token.
template <typename Value>
static std::vector<std::span<const Value>>
partsOf(std::span<const Value> values, const std::vector<int32_t> &lengths, int64_t width) {
  std::vector<std::span<const Value>> list;
  for (const int32_t length : lengths) {
    const auto count = static_cast<size_t>(length * width);
    list.push_back(values.first(count));
    values = values.subspan(count);
  }
  return list;
}

/// Returns the ids or the rows of every source.
static std::vector<SourceView> sourcesOf(const RunInputs &inputs, const PortInfo &port) {
  const auto given = std::find_if(inputs.inputs.begin(), inputs.inputs.end(),
                                  [&](const RunInput &each) { return each.name == port.name; });
  std::vector<SourceView> sources;
  if (port.element == ElementType::I32) {
    for (const auto ids : partsOf(std::span(given->ids), inputs.batch.lengths, 1)) {
      sources.emplace_back(ids);
    }
    return sources;
  }
  for (const auto rows : partsOf(std::span(given->rows), inputs.batch.lengths, port.shape.back())) {
    SourceView &source = sources.emplace_back(rows);
    source.width = static_cast<int32_t>(inputs.batch.sizes().widthOf(sources.size() - 1));
  }
  return sources;
}

void noteConversions(const RunInputs &inputs) {
  for (const RunInput &input : inputs.inputs) {
    if (!input.rows.empty() && input.stored != ElementType::F32) {
      const std::string note =
          fmt::format("heddle: note: tensor {} is converted from {} to {}\n", quote(input.name),
                      infoOf(input.stored).name, infoOf(ElementType::F32).name);
      std::fputs(note.c_str(), stderr);
    }
  }
}

/// Runs "encode" and appends its outputs to `outputs`.
static Status encodeSources(PagedDecoder &decoder, const EntryInfo &entry, const PortInfo &port,
                            const RunInputs &sources, std::vector<SourceId> &ids,
                            std::vector<RunOutput> &outputs) {
  for (const PortInfo &output : entry.outputs) {
    const int64_t rows = output.rowsOf(sources.batch.lengths, sources.batch.widths);
    outputs.push_back({output.name, outputShape(output, sources.batch),
                       std::vector<float>(static_cast<size_t>(rows * rowWidth(output))),
                       derivedLengths(output, sources.batch)});
  }
  std::vector<Output> wanted;
  for (RunOutput &output : outputs) {
    wanted.push_back({output.name, output.values});
  }
  ids.resize(sources.batch.lengths.size());
  HEDDLE_TRY(decoder.encode(sourcesOf(sources, port), ids, wanted));
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].values = spreadRows(entry.outputs[i], sources.batch, std::move(outputs[i].values));
  }
  return {};
}

/// Returns the shape of rows of tokens; a single number per row needs no dimension.
static std::vector<int64_t> rowsShape(const PortInfo &port, const PaddedBatch &batch) {
  std::vector<int64_t> shape = outputShape(port, batch);
  if (port.shape.back() == 1) {
    shape.pop_back();
  }
  return shape;
}

/// Returns whether an output of "decode" has a number for each key.
static bool areWeights(const PortInfo &port) {
  return port.shape.size() == 3 && port.shape.back() == longestDimension;
}

/// Returns the attention of each token of the targets: [B,T,S] for one head, [B,T,heads,S] for
/// several.
static RunOutput lookOutput(const PortInfo &port, const PaddedBatch &batch,
                            const AttentionWeights &weights) {
  PortInfo rows = port;
  rows.shape = {tokensDimension, weights.heads, weights.pitch};
  if (weights.heads == 1) {
    rows.shape.erase(rows.shape.begin() + 1);
  }
  return {port.name, outputShape(rows, batch), spreadRows(rows, batch, weights.values), {}};
}

/// Reports the outputs of "decode" that cannot be written as rows of tokens.
static void noteLeftOut(const EntryInfo &entry) {
  for (const PortInfo &port : entry.outputs) {
    const bool areRows = port.shape.size() == 2 && port.shape.front() == tokensDimension;
    if (!areRows && !(port.name == attentionOutput && areWeights(port))) {
      const std::string note =
          fmt::format("heddle: note: output {} of entry {} has no row for each token: left out\n",
                      quote(port.name), quote(entry.name));
      std::fputs(note.c_str(), stderr);
    }
  }
}

/// Runs "decode" and appends its outputs to `outputs`.
static Status decodeTargets(PagedDecoder &decoder, const EntryInfo &entry, const RunInputs &targets,
                            std::span<const SourceId> ids, std::vector<RunOutput> &outputs) {
  const std::vector<std::span<const int32_t>> tokens =
      partsOf(std::span<const int32_t>(targets.inputs.front().ids), targets.batch.lengths, 1);
  std::vector<Extension> extensions;
  for (size_t i = 0; i < ids.size(); ++i) {
    HEDDLE_ASSIGN(const HypothesisId hypothesis, decoder.start(ids[i]));
    extensions.push_back({hypothesis, tokens[i]});
  }
  std::vector<const PortInfo *> given;
  std::vector<std::vector<float>> values;
  for (const PortInfo &port : entry.outputs) {
    const bool areRows = port.shape.size() == 2 && port.shape.front() == tokensDimension;
    if (areRows && port.name != logitsOutput) {
      given.push_back(&port);
      values.emplace_back(static_cast<size_t>(targets.batch.tokens() * rowWidth(port)));
    }
  }
  std::vector<Output> rows;
  for (size_t i = 0; i < given.size(); ++i) {
    rows.push_back({given[i]->name, values[i]});
  }
  const auto portOf = [&](std::string_view name) {
    return std::find_if(entry.outputs.begin(), entry.outputs.end(),
                        [&](const PortInfo &each) { return each.name == name; });
  };
  const auto weights = portOf(attentionOutput);
  const bool looks = weights != entry.outputs.end() && areWeights(*weights);
  LogitsTable logits;
  AttentionWeights attention;
  HEDDLE_TRY(decoder.decode(extensions, logits,
                            {.attention = looks ? &attention : nullptr, .rows = rows}));
  const PortInfo &scores = *portOf(logitsOutput);
  outputs.push_back({scores.name,
                     outputShape(scores, targets.batch),
                     spreadRows(scores, targets.batch, logits.take()),
                     {}});
  for (size_t i = 0; i < given.size(); ++i) {
    outputs.push_back({given[i]->name,
                       rowsShape(*given[i], targets.batch),
                       spreadRows(*given[i], targets.batch, std::move(values[i])),
                       {}});
  }
  if (looks) {
    outputs.push_back(lookOutput(*weights, targets.batch, attention));
  }
  noteLeftOut(entry);
  return {};
}

/// Disambiguates names: an output of "decode" with the name of an output of "encode" becomes
/// "decode.NAME".
static void tellApart(std::span<const RunOutput> encoded, std::span<RunOutput> decoded) {
  for (RunOutput &output : decoded) {
    const bool isTaken = std::any_of(encoded.begin(), encoded.end(), [&](const RunOutput &each) {
      return each.name == output.name ||
             (!each.lengths.empty() && rowsTensorName(each.name) == output.name);
    });
    if (isTaken) {
      output.name = fmt::format("{}.{}", decodeEntry, output.name);
    }
  }
}

/// Returns the names that neither entry uses.
static std::vector<std::string> ignoredByBoth(const RunInputs &sources, const RunInputs &targets) {
  std::vector<std::string> ignored;
  for (const std::string &name : sources.ignored) {
    if (std::find(targets.ignored.begin(), targets.ignored.end(), name) != targets.ignored.end()) {
      ignored.push_back(name);
    }
  }
  return ignored;
}

/// Runs "decode" of a model without sources: prompts are [B,T] or [T], and padding is marked as for
/// a single entry.
static Result<RunOutputs> runPrompts(const Model &model, const SessionOptions &options,
                                     std::span<const SafetensorsTensor> tensors,
                                     std::string_view where) {
  const EntryInfo &decode = *model.findEntry(decodeEntry);
  HEDDLE_ASSIGN(const PortInfo *const prompt, chooseIds(model, decode));
  HEDDLE_ASSIGN(const std::unique_ptr<PagedDecoder> decoder, PagedDecoder::create(model, options));
  HEDDLE_ASSIGN(const RunInputs prompts,
                readRunInputs(decode, *prompt, tensors, where, decoder->pad()));
  noteConversions(prompts);
  std::vector<SourceId> ids(prompts.batch.lengths.size());
  const std::vector<SourceView> nothing(ids.size(), std::span<const int32_t>());
  HEDDLE_TRY(decoder->encode(nothing, ids));
  RunOutputs result;
  result.ignored = prompts.ignored;
  HEDDLE_TRY_WITH(decodeTargets(*decoder, decode, prompts, ids, result.outputs), where);
  return result;
}

/// Runs "encode" and "decode". Sources are [B,S], or [S] for one; targets [B,T] or [T]. The
/// source's padding is marked by "attention_mask", or otherwise by the model's pad id; every column
/// of the target is computed. Returns the outputs of both entries.
static Result<RunOutputs> runDecoder(const Model &model, const SessionOptions &options,
                                     std::span<const SafetensorsTensor> tensors,
                                     std::string_view where) {
  if (!PagedDecoder::hasSources(model)) {
    return runPrompts(model, options, tensors, where);
  }
  const EntryInfo &encode = *model.findEntry(encodeEntry);
  const EntryInfo &decode = *model.findEntry(decodeEntry);
  HEDDLE_ASSIGN(const PortInfo *const source, chooseInput(model, encode));
  HEDDLE_ASSIGN(const PortInfo *const target, chooseIds(model, decode));
  HEDDLE_TRY_WITH(checkLengthsNames(encode.outputs), model.path());
  HEDDLE_ASSIGN(const std::unique_ptr<PagedDecoder> decoder, PagedDecoder::create(model, options));
  HEDDLE_ASSIGN(const RunInputs sources,
                readSources(model, encode, *source, tensors, where, decoder->pad()));
  HEDDLE_ASSIGN(RunInputs targets, readTargets(model, decode, *target, tensors, where));
  noteConversions(sources);
  HEDDLE_TRY(putCommands(targets, decode, tensors, where));
  if (sources.batch.sequences() != targets.batch.sequences()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: tensor {} has {} sequences and tensor {} has {}, expected "
                                    "as many",
                                    where, quote(source->name), sources.batch.sequences(),
                                    quote(target->name), targets.batch.sequences()));
  }
  const int64_t longest = decoder->longestTarget();
  for (size_t i = 0; i < targets.batch.lengths.size(); ++i) {
    if (longest != 0 && targets.batch.lengths[i] > longest) {
      return HEDDLE_ERROR(OutOfRange,
                          fmt::format("{}: tensor {}: sequence {} has {} tokens, expected at most "
                                      "{}, the positions of the model",
                                      where, quote(target->name), i + 1, targets.batch.lengths[i],
                                      longest));
    }
  }
  RunOutputs result;
  result.ignored = ignoredByBoth(sources, targets);
  std::vector<SourceId> ids;
  HEDDLE_TRY_WITH(encodeSources(*decoder, encode, *source, sources, ids, result.outputs), where);
  const size_t encoded = result.outputs.size();
  HEDDLE_TRY_WITH(decodeTargets(*decoder, decode, targets, ids, result.outputs), where);
  const std::span<RunOutput> all = result.outputs;
  tellApart(all.first(encoded), all.subspan(encoded));
  return result;
}

// --- one entry
// --------------------------------------------------------------------------------------

/// Returns the outputs of one run in the file's layout. `where` begins every message.
static Result<std::vector<std::vector<float>>> runEntry(Session &session, const EntryInfo &entry,
                                                        const RunInputs &inputs,
                                                        std::string_view where) {
  std::vector<Input> given;
  for (const RunInput &input : inputs.inputs) {
    given.push_back(input.values());
  }
  std::vector<std::vector<float>> values;
  for (const PortInfo &output : entry.outputs) {
    values.emplace_back(static_cast<size_t>(
        output.rowsOf(inputs.batch.lengths, inputs.batch.widths) * rowWidth(output)));
  }
  std::vector<Output> wanted;
  for (size_t output = 0; output < values.size(); ++output) {
    wanted.push_back({entry.outputs[output].name, values[output]});
  }
  HEDDLE_TRY_WITH(session.run(entry.name, inputs.batch.lengths, given, wanted, inputs.batch.widths),
                  where);
  for (size_t output = 0; output < values.size(); ++output) {
    values[output] = spreadRows(entry.outputs[output], inputs.batch, std::move(values[output]));
  }
  return values;
}

/// Runs one entry on its tensors.
static Result<RunOutputs> runOneEntry(const Model &model, const RunOptions &options,
                                      std::span<const SafetensorsTensor> tensors) {
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseNamedEntry(model, options.entry));
  HEDDLE_TRY_WITH(checkLengthsNames(entry->outputs), options.model);
  HEDDLE_ASSIGN(const PortInfo *shaping, chooseInput(model, *entry));
  const bool overRectangles = isOverRectangles(*entry);
  RunInputs inputs;
  if (overRectangles) {
    HEDDLE_ASSIGN(RectangleInputs read,
                  readRectangle(model, *entry, *shaping, tensors, options.inputs));
    inputs = std::move(read.inputs);
    entry = read.entry;
  } else {
    HEDDLE_ASSIGN(inputs, readRunInputs(*entry, *shaping, tensors, options.inputs));
  }
  noteConversions(inputs);
  HEDDLE_ASSIGN(Session session, Session::create(model, {.threads = options.threads}));
  HEDDLE_ASSIGN(std::vector<std::vector<float>> values,
                runEntry(session, *entry, inputs, options.inputs));
  RunOutputs result;
  result.ignored = inputs.ignored;
  for (size_t output = 0; output < values.size(); ++output) {
    const PortInfo &port = entry->outputs[output];
    if (overRectangles) {
      clearHiddenSequences(port, inputs.batch, values[output]);
    }
    result.outputs.push_back({port.name, outputShape(port, inputs.batch), std::move(values[output]),
                              derivedLengths(port, inputs.batch)});
  }
  return result;
}

Status execute(const RunOptions &options) {
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options));
  HEDDLE_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(options.inputs));
  const bool decodes = options.entry.empty() && isDecoderModel(model);
  const bool links = options.entry.empty() && isLinked(model);
  const SessionOptions session{.threads = options.threads};
  HEDDLE_ASSIGN(const RunOutputs result,
                links     ? runLinked(model, session, file.tensors(), options.inputs)
                : decodes ? runDecoder(model, session, file.tensors(), options.inputs)
                          : runOneEntry(model, options, file.tensors()));
  for (const std::string &name : result.ignored) {
    // Reported, because it may be a misspelt mask.
    const EntryInfo &first =
        decodes ? *model.findEntry("decode") : **chooseEntry(model, options.entry);
    const std::string note =
        links ? fmt::format("heddle: note: tensor {} is no input of any entry: ignored\n",
                            quote(name))
              : fmt::format(
                    "heddle: note: tensor {} is no input of entry {}\"{}\": ignored\n", quote(name),
                    decodes && PagedDecoder::hasSources(model) ? "\"encode\" or " : "", first.name);
    std::fputs(note.c_str(), stderr);
  }
  std::vector<SafetensorsTensor> tensors;
  for (const RunOutput &output : result.outputs) {
    tensors.push_back(
        {output.name, ElementType::F32, output.shape, std::as_bytes(std::span(output.values))});
    if (!output.lengths.empty()) {
      tensors.push_back({rowsTensorName(output.name),
                         ElementType::I32,
                         {static_cast<int64_t>(output.lengths.size())},
                         std::as_bytes(std::span(output.lengths))});
    }
  }
  return writeSafetensors(options.outputs, tensors);
}

} // namespace heddle::tools
