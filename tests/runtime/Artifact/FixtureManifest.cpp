// SPDX-License-Identifier: Apache-2.0
///
/// Serialises the test model as a FlatBuffer exactly as described, whether valid or not.
#include "tests/runtime/Artifact/FixtureModel.h"

#include "formats/Binary/Layout.h"
#include "formats/Tokenizer/VocabularyHash.h"

#include <algorithm>
#include <flatbuffers/flatbuffers.h>

namespace heddle::fixture {
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

/// Returns the number of a type in manifests, even of an invalid one.
static uint8_t codeOf(ElementType element) { return static_cast<uint8_t>(element); }

static std::vector<Offset<manifest::Port>> ports(FlatBufferBuilder &builder,
                                                 const std::vector<PortSpec> &list) {
  std::vector<Offset<manifest::Port>> result;
  for (const PortSpec &port : list) {
    const auto name = builder.CreateString(port.name);
    const auto shape = builder.CreateVectorOfStructs(port.shape);
    const auto axes = port.axes.empty() ? Offset<flatbuffers::Vector<int64_t>>()
                                        : builder.CreateVector(port.axes);
    const auto after =
        port.after.empty() ? Offset<flatbuffers::String>() : builder.CreateString(port.after);
    result.push_back(manifest::CreatePort(builder, name, codeOf(port.element), shape, port.limit,
                                          port.optional, port.buffer, port.observed, port.pad, axes,
                                          after, port.rows));
  }
  return result;
}

static std::vector<Offset<manifest::Buffer>>
buffers(FlatBufferBuilder &builder, const std::vector<BufferSpec> &list, size_t targets) {
  std::vector<Offset<manifest::Buffer>> result;
  for (const BufferSpec &buffer : list) {
    const auto shape = builder.CreateVectorOfStructs(buffer.shape);
    const bool isParameter = buffer.location == manifest::Location::Parameter;
    const std::vector<uint32_t> all(targets, buffer.index);
    const auto stored = isParameter
                            ? builder.CreateVector(buffer.stored.empty() ? all : buffer.stored)
                            : Offset<flatbuffers::Vector<uint32_t>>();
    Offset<flatbuffers::Vector<const manifest::SizeTerm *>> offset;
    if (buffer.offset) {
      offset = builder.CreateVectorOfStructs(*buffer.offset);
    }
    result.push_back(manifest::CreateBuffer(builder, buffer.location, codeOf(buffer.element), shape,
                                            offset, isParameter ? 0 : buffer.index, stored));
  }
  return result;
}

static std::vector<Offset<manifest::Dispatch>>
dispatches(FlatBufferBuilder &builder, const std::vector<DispatchSpec> &list, size_t targets) {
  std::vector<Offset<manifest::Dispatch>> result;
  for (const DispatchSpec &dispatch : list) {
    const std::vector<manifest::TargetColumns> all(
        targets,
        {dispatch.columns, dispatch.columnElements, dispatch.weightBytes, dispatch.rowTile});
    const auto columns = builder.CreateVectorOfStructs(
        dispatch.targetColumns.empty() ? all : dispatch.targetColumns);
    const auto grid = manifest::CreateGrid(builder, dispatch.rows, columns, dispatch.groupElements);
    const auto operands = builder.CreateVectorOfStructs(dispatch.operands);
    const auto spaces = builder.CreateVector(dispatch.spaces);
    const auto name = builder.CreateString(dispatch.name);
    result.push_back(manifest::CreateDispatch(
        builder, dispatch.kernel, dispatch.finish, operands, grid, spaces, name, dispatch.flops,
        dispatch.flopsPerKey, dispatch.weightBytesPerRow, dispatch.written, dispatch.countedRows,
        dispatch.countedKeys, /*most_keys=*/0, dispatch.chosenGroups, dispatch.chosenBy,
        static_cast<manifest::Arithmetic>(dispatch.arithmetic), dispatch.rowByRow,
        static_cast<manifest::FloatProducts>(dispatch.floatProducts)));
  }
  return result;
}

static Offset<manifest::Entry> entry(FlatBufferBuilder &builder, const EntrySpec &spec,
                                     size_t targets) {
  const auto name = builder.CreateString(spec.name);
  const auto inputs = builder.CreateVector(ports(builder, spec.inputs));
  const auto outputs = builder.CreateVector(ports(builder, spec.outputs));
  const auto bufferList = builder.CreateVector(buffers(builder, spec.buffers, targets));
  const auto dispatchList = builder.CreateVector(dispatches(builder, spec.dispatches, targets));
  std::vector<Offset<manifest::CachePort>> caches;
  for (const CacheSpec &cache : spec.caches) {
    caches.push_back(manifest::CreateCachePortDirect(builder, cache.name.c_str(), cache.width,
                                                     codeOf(cache.element), cache.layout,
                                                     cache.written, cache.buffer, &cache.readFrom));
  }
  const auto cacheList = caches.empty() ? 0 : builder.CreateVector(caches);
  std::vector<Offset<manifest::StatePort>> states;
  for (const StateSpec &state : spec.states) {
    states.push_back(manifest::CreateStatePortDirect(builder, state.name.c_str(), state.width,
                                                     codeOf(state.element), state.written,
                                                     state.buffer, state.keyed));
  }
  const auto stateList = states.empty() ? 0 : builder.CreateVector(states);
  const auto arena = builder.CreateVectorOfStructs(spec.arena);
  const auto spaces = builder.CreateVectorOfStructs(spec.spaces);
  std::vector<Offset<manifest::Loop>> loops;
  for (const LoopSpec &loop : spec.loops) {
    loops.push_back(manifest::CreateLoop(builder, loop.first, loop.count, loop.rows,
                                         builder.CreateVectorOfStructs(loop.earlier), loop.beside));
  }
  const auto loopList = loops.empty() ? 0 : builder.CreateVector(loops);
  return manifest::CreateEntry(builder, name, inputs, outputs, bufferList, dispatchList, arena,
                               spec.maxLength, cacheList, stateList, spaces, loopList,
                               spec.appended, builder.CreateVectorOfStructs(spec.rowLimits));
}

static Offset<manifest::Generation> generation(FlatBufferBuilder &builder,
                                               const GenerationSpec &spec) {
  return manifest::CreateGenerationDirect(
      builder, &spec.start, &spec.end, spec.pad, spec.forcedFirst, spec.forcedLast,
      &spec.suppressed, spec.rules.c_str(), spec.maxLength, spec.beams, spec.lengthPenalty,
      spec.earlyStopping, spec.noRepeatNgram, spec.repetitionPenalty, spec.minLength,
      spec.neverStopEarly, spec.sample, spec.temperature, spec.topK, spec.topP, spec.minP,
      spec.contextLength);
}

static Offset<manifest::Parameter> parameter(FlatBufferBuilder &builder,
                                             const ParameterSpec &spec) {
  const uint64_t checksum = contentChecksum(std::as_bytes(std::span(spec.values)));
  return manifest::CreateParameterDirect(builder, spec.name.c_str(), codeOf(spec.element),
                                         &spec.shape, spec.offset, spec.size, checksum);
}

/// The words "a" to "z" are the ids 1 to 26, others 0; each text gets 27 before and 28 after it.
static Offset<manifest::Tokenizer> tokenizer(FlatBufferBuilder &builder) {
  std::vector<std::string> tokens{"[UNK]"};
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    tokens.emplace_back(1, letter);
  }
  tokens.insert(tokens.end(), {"[CLS]", "[SEP]"});
  std::vector<uint32_t> ids;
  std::vector<uint8_t> text;
  std::vector<uint32_t> offsets{0};
  std::vector<manifest::VocabularySlot> slots(64);
  for (uint32_t i = 0; i < tokens.size(); ++i) {
    ids.push_back(i);
    text.insert(text.end(), tokens[i].begin(), tokens[i].end());
    offsets.push_back(static_cast<uint32_t>(text.size()));
    const VocabularyPlace place =
        vocabularyPlace(extendVocabularyHash(vocabularyHashSeed, tokens[i]));
    uint32_t at = place.slot % 64;
    while (slots[at].token() != 0) {
      at = (at + 1) % 64;
    }
    slots[at] = manifest::VocabularySlot(place.tag, i + 1);
  }
  const auto vocabulary = manifest::CreateVocabularyDirect(builder, &ids, &text, &offsets, &slots);
  const auto pieces = manifest::CreateWordPieceDirect(builder, vocabulary, 0, "##", 10).Union();
  const std::vector<manifest::TemplatePiece> pattern{{manifest::TemplatePieceKind::Token, 27, 0},
                                                     {manifest::TemplatePieceKind::Text, 0, 0},
                                                     {manifest::TemplatePieceKind::Token, 28, 0}};
  const auto templateList = builder.CreateVectorOfStructs(pattern);
  const auto splitter = manifest::CreateBertPreTokenizer(builder).Union();
  manifest::TokenizerBuilder table(builder);
  table.add_pre_tokenizer_type(manifest::PreTokenizer::BertPreTokenizer);
  table.add_pre_tokenizer(splitter);
  table.add_model_type(manifest::TokenizerModel::WordPiece);
  table.add_model(pieces);
  table.add_template_(templateList);
  table.add_max_length(longest);
  return table.Finish();
}

static std::vector<Offset<manifest::Kernel>> kernelsOf(FlatBufferBuilder &builder,
                                                       const ModelSpec &spec) {
  std::vector<Offset<manifest::Kernel>> kernels;
  for (const KernelSpec &each : spec.kernels) {
    const auto symbols = builder.CreateVectorOfStrings(each.symbols);
    const auto launches = builder.CreateVectorOfStructs(
        each.launches.empty() ? std::vector<manifest::LaunchShape>(spec.targets.size())
                              : each.launches);
    kernels.push_back(manifest::CreateKernel(builder, builder.CreateString(each.name), symbols,
                                             each.scratch, each.scratchPerLongest, launches));
  }
  return kernels;
}

static std::vector<Offset<manifest::KeptLayers>> keptOf(FlatBufferBuilder &builder,
                                                        const ModelSpec &spec) {
  std::vector<Offset<manifest::KeptLayers>> kept;
  for (const KeptSpec &each : spec.kept) {
    const auto layers = builder.CreateString(each.layers);
    const auto name = builder.CreateString(each.precision);
    kept.push_back(manifest::CreateKeptLayers(builder, layers, name, each.tensors, each.bytes));
  }
  return kept;
}

std::string serialize(const ModelSpec &spec, uint64_t codeChecksum) {
  FlatBufferBuilder builder;
  std::vector<Offset<manifest::Entry>> entries;
  for (const EntrySpec &each : spec.entries) {
    entries.push_back(entry(builder, each, spec.targets.size()));
  }
  const std::vector<Offset<manifest::Kernel>> kernels = kernelsOf(builder, spec);
  std::vector<Offset<manifest::Parameter>> parameters;
  for (const ParameterSpec &each : spec.parameters) {
    parameters.push_back(parameter(builder, each));
  }
  std::vector<Offset<manifest::Image>> images;
  for (const ImageSpec &each : spec.images) {
    const uint64_t checksum = contentChecksum(std::as_bytes(std::span(each.bytes)));
    images.push_back(manifest::CreateImage(builder, each.target, each.kind, each.offset, each.size,
                                           each.checksum.value_or(checksum),
                                           builder.CreateString(each.compiler)));
  }
  const auto imageList = images.empty() ? 0 : builder.CreateVector(images);
  const auto targets = builder.CreateVectorOfStrings(spec.targets);
  const auto entryList = builder.CreateVector(entries);
  const auto kernelList = builder.CreateVector(kernels);
  const auto parameterList = builder.CreateVector(parameters);
  const auto producer = builder.CreateString("fixture");
  const auto modelType = builder.CreateString("test");
  const auto hash = builder.CreateString("0123456789abcdef0123456789abcdef");
  const auto precision = builder.CreateString(spec.precision);
  const auto kept = builder.CreateVector(keptOf(builder, spec));
  const auto report = builder.CreateVectorOfStrings({std::string("nothing to optimise")});
  const Offset<manifest::Tokenizer> tokens = spec.tokenizer ? tokenizer(builder) : 0;
  const Offset<manifest::Tokenizer> targetTokens = spec.targetTokenizer ? tokenizer(builder) : 0;
  const Offset<manifest::Generation> defaults =
      spec.generation ? generation(builder, *spec.generation) : 0;
  const Offset<manifest::Classification> classification =
      spec.labels ? manifest::CreateClassification(
                        builder, builder.CreateVectorOfStrings(*spec.labels), spec.problem)
                  : 0;
  const Offset<manifest::Languages> languages =
      spec.languages
          ? manifest::CreateLanguages(builder, builder.CreateVectorOfStrings(spec.languages->names),
                                      builder.CreateVector(spec.languages->tokens),
                                      spec.languages->endsSource, spec.languages->startsTarget,
                                      spec.languages->source, spec.languages->target)
          : 0;
  builder.Finish(
      manifest::CreateManifest(builder, spec.abi, producer, modelType, hash, precision, targets,
                               entryList, kernelList, parameterList, spec.weightsSize,
                               spec.codeChecksum.value_or(codeChecksum), tokens, targetTokens,
                               defaults, report, /*sharing=*/0, /*calibration=*/0, kept,
                               /*codes=*/0, imageList, classification, /*chat=*/0, languages),
      manifest::ManifestIdentifier());
  return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
}

} // namespace heddle::fixture
