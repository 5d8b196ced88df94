// SPDX-License-Identifier: Apache-2.0
///
/// Encodes the sources of a file, and decodes its targets in one pass.
#include "runtime/Tools/Run/RunDecoder.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "runtime/Session/PagedDecoder.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Models/TeacherForcing.h"
#include "runtime/Tools/Run/RunTensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::tools {

bool isDecoderModel(const Model &model) { return PagedDecoder::supports(model); }

/// The inputs of "decode": what says where the source has tokens is not about them.
static Result<RunInputs> readTargets(const EntryInfo &entry, const PortInfo &shaping,
                                     std::span<const SafetensorsTensor> tensors,
                                     std::string_view where) {
  std::vector<SafetensorsTensor> kept;
  for (const SafetensorsTensor &tensor : tensors) {
    if (tensor.name != "attention_mask" && tensor.name != "lengths") {
      kept.push_back(tensor);
    }
  }
  return readRunInputs(entry, shaping, kept, where);
}

/// The tokens of every sequence.
static std::vector<std::span<const int32_t>> sequencesOf(const RunInputs &inputs) {
  std::span<const int32_t> rest = inputs.inputs.front().ids;
  std::vector<std::span<const int32_t>> list;
  for (const int32_t length : inputs.batch.lengths) {
    list.push_back(rest.first(static_cast<size_t>(length)));
    rest = rest.subspan(static_cast<size_t>(length));
  }
  return list;
}

/// Runs "encode"; its outputs are added to `outputs`.
static Status encodeSources(PagedDecoder &decoder, const EntryInfo &entry, const RunInputs &sources,
                            std::vector<SourceId> &ids, std::vector<RunOutput> &outputs) {
  for (const PortInfo &port : entry.outputs) {
    const bool perToken = port.shape.front() == tokensDimension;
    const int64_t rows = perToken ? sources.batch.tokens() : sources.batch.sequences();
    outputs.push_back({port.name, outputShape(port, sources.batch),
                       std::vector<float>(static_cast<size_t>(rows * rowWidth(port)))});
  }
  std::vector<Output> wanted;
  for (RunOutput &output : outputs) {
    wanted.push_back({output.name, output.values});
  }
  ids.resize(sources.batch.lengths.size());
  HEDDLE_TRY(decoder.encode(sequencesOf(sources), ids, wanted));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PortInfo &port = entry.outputs[i];
    if (port.shape.front() == tokensDimension && sources.batch.rectangular) {
      outputs[i].values = sources.batch.scatter(outputs[i].values, rowWidth(port));
    }
  }
  return {};
}

static Result<RunOutput> decodeTargets(PagedDecoder &decoder, const EntryInfo &entry,
                                       const RunInputs &targets, std::span<const SourceId> ids) {
  const std::vector<std::span<const int32_t>> tokens = sequencesOf(targets);
  std::vector<Extension> extensions;
  for (size_t i = 0; i < ids.size(); ++i) {
    HEDDLE_ASSIGN(const HypothesisId hypothesis, decoder.start(ids[i]));
    extensions.push_back({hypothesis, tokens[i]});
  }
  LogitsTable logits;
  HEDDLE_TRY(decoder.decode(extensions, logits));
  const auto port = std::find_if(entry.outputs.begin(), entry.outputs.end(),
                                 [](const PortInfo &each) { return each.name == logitsOutput; });
  return RunOutput{port->name, outputShape(*port, targets.batch), logits.take()};
}

/// The names that neither entry has a use for.
static std::vector<std::string> ignoredByBoth(const RunInputs &sources, const RunInputs &targets) {
  std::vector<std::string> ignored;
  for (const std::string &name : sources.ignored) {
    if (std::find(targets.ignored.begin(), targets.ignored.end(), name) != targets.ignored.end()) {
      ignored.push_back(name);
    }
  }
  return ignored;
}

Result<RunOutputs> runDecoder(const Model &model, const SessionOptions &options,
                              std::span<const SafetensorsTensor> tensors, std::string_view where) {
  const EntryInfo &encode = *model.findEntry(encodeEntry);
  const EntryInfo &decode = *model.findEntry(decodeEntry);
  HEDDLE_ASSIGN(const PortInfo *const source, chooseIds(model, encode));
  HEDDLE_ASSIGN(const PortInfo *const target, chooseIds(model, decode));
  HEDDLE_ASSIGN(const std::unique_ptr<PagedDecoder> decoder, PagedDecoder::create(model, options));
  HEDDLE_ASSIGN(const RunInputs sources,
                readRunInputs(encode, *source, tensors, where, decoder->pad()));
  HEDDLE_ASSIGN(const RunInputs targets, readTargets(decode, *target, tensors, where));
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
  HEDDLE_TRY_WITH(encodeSources(*decoder, encode, sources, ids, result.outputs), where);
  Result<RunOutput> logits = decodeTargets(*decoder, decode, targets, ids);
  HEDDLE_TRY_WITH(logits.status(), where);
  result.outputs.push_back(*std::move(logits));
  return result;
}

} // namespace heddle::tools
