// SPDX-License-Identifier: Apache-2.0
///
/// Manifests that are well-formed FlatBuffers but invalid: each is rejected with its message.
#include "formats/Binary/ManifestCheck.h"

#include "heddle/RectangleEntries.h"
#include "tests/runtime/Artifact/FixtureModel.h"

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <random>

using namespace heddle;
using namespace heddle::fixture;
using manifest::Dimension;
using manifest::Location;

/// Checks an exact, aligned copy of the bytes, so that AddressSanitizer detects every access beyond
/// them.
static Status checkCopy(const std::string &bytes, uint64_t weightsSize) {
  const std::unique_ptr<std::byte, decltype(&std::free)> copy(
      static_cast<std::byte *>(std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64)), &std::free);
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return checkManifest({copy.get(), bytes.size()}, {.weightsSize = weightsSize});
}

static Status check(const ModelSpec &spec) {
  return checkCopy(serialize(spec, 0), spec.actualWeightsSize);
}

namespace {
/// A change, and part of the message that rejects it.
struct Case {
  const char *name;
  std::function<void(ModelSpec &)> change;
  const char *message;
};
} // namespace

static std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }

class HostileManifest : public testing::TestWithParam<Case> {};

TEST_P(HostileManifest, IsRefused) {
  ModelSpec spec = model();
  ASSERT_EQ(check(spec).message(), "");
  GetParam().change(spec);
  const Status status = check(spec);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

/// Returns the first entry, "encode", in which most things are changed.
static EntrySpec &encode(ModelSpec &spec) { return spec.entries[0]; }

static const Case tableCases[] = {
    {"abi", [](auto &m) { m.abi = 99; },
     "compiled for binary interface 99 by \"fixture\", this runtime has "},
    {"weightsSize", [](auto &m) { m.weightsSize += 64; }, "bytes of weights, the section has"},
    {"noTarget", [](auto &m) { m.targets.clear(); }, "no target, expected at least one"},
    {"targetTwice", [](auto &m) { m.targets[1] = m.targets[0]; },
     "target \"x86-64-v3\" appears twice"},
    {"noPrecision", [](auto &m) { m.precision = ""; }, "no precision, expected a name"},
    {"keptNowhere", [](auto &m) { m.kept = {{"layer.4", "int8", 1, 8}, {"", "int8", 1, 8}}; },
     "kept layers 1: pattern \"\" and precision \"int8\", expected neither empty"},
    {"keptInNothing", [](auto &m) { m.kept = {{"layer.4", "", 1, 8}}; },
     "kept layers 0: pattern \"layer.4\" and precision \"\", expected neither empty"},
    {"keptNoTensor", [](auto &m) { m.kept = {{"layer.4", "int8", 0, 8}}; },
     "kept layers 0: 0 tensors of 8 bytes, expected 1 to 9223372036854775807 and at most as many "
     "bytes"},
    {"keptTooManyBytes", [](auto &m) { m.kept = {{"layer.4", "int8", 2, 1ULL << 63}}; },
     "kept layers 0: 2 tensors of 9223372036854775808 bytes, expected"},
    {"symbolsMissing", [](auto &m) { m.kernels[2].symbols.pop_back(); },
     "kernel \"center\": 1 symbols, expected one for each of 2 targets"},
    {"symbolEmpty", [](auto &m) { m.kernels[2].symbols[0] = ""; }, "an empty symbol"},
    {"kernelTwice", [](auto &m) { m.kernels[1].name = "gather"; },
     "kernel \"gather\" appears twice or has no name"},
    {"scratchHuge", [](auto &m) { m.kernels[3].scratch = UINT64_MAX; }, "scratch memory of"},
    {"scratchPerLongestHuge", [](auto &m) { m.kernels[3].scratchPerLongest = 1ull << 40; },
     "and 1099511627776 per row of the longest sequence, expected at most"},
    {"parameterTwice", [](auto &m) { m.parameters[1].name = "words"; },
     "parameter \"words\" appears twice"},
    {"parameterUnnamed", [](auto &m) { m.parameters[1].name = ""; }, "or has no name"},
    {"parameterElement", [](auto &m) { m.parameters[0].element = ElementType(16); },
     "parameter \"words\": element type 16, expected at most 15"},
    {"parameterOffset", [](auto &m) { m.parameters[0].offset = 4; },
     "offset 4, expected a multiple of 64"},
    {"parameterBeyond", [](auto &m) { m.parameters[3].offset = 1 << 20; }, "the weights have"},
    {"parameterOverflow", [](auto &m) { m.parameters[3].offset = UINT64_MAX - 63; },
     "the weights have"},
    {"parameterSize", [](auto &m) { m.parameters[3].size = 64; }, "64 bytes, its shape has 128"},
    {"parameterShapeZero", [](auto &m) { m.parameters[3].shape = {0}; }, "dimension 0 is zero"},
    {"parameterShapeOverflow", [](auto &m) { m.parameters[3].shape = {1ull << 40, 1ull << 40}; },
     "makes the shape too large"},
    {"entryTwice", [](auto &m) { m.entries[1].name = "encode"; }, "entry \"encode\" appears twice"},
    {"maxLength", [](auto &m) { encode(m).maxLength = 1ull << 33; },
     "longest sequence 8589934592, expected at most"},
    {"arenaAlignment", [](auto &m) { encode(m).arena = sizeTerms(260, 0, 0); },
     "arena 260 * tokens, expected multiples of 64"},
    {"arenaHuge", [](auto &m) { encode(m).arena = sizeTerms(0, 1ull << 50, 0); },
     "expected coefficients of at most"},
};
INSTANTIATE_TEST_SUITE_P(Tables, HostileManifest, testing::ValuesIn(tableCases), nameOf);

/// Returns the spaces of an entry whose rows may be blocks of two tokens, and of four.
static std::vector<manifest::RowSpace> blockSpaces() {
  std::vector<manifest::RowSpace> spaces = fixture::usualSpaces();
  spaces.push_back(fixture::blocksOf(2));
  spaces.push_back(fixture::blocksOf(4));
  return spaces;
}

static manifest::RowSpace spaceOf(RowSpaceKind kind, int64_t size) {
  return {static_cast<uint64_t>(size), static_cast<uint8_t>(kind)};
}

static const Case spaceCases[] = {
    {"none", [](auto &m) { encode(m).spaces.clear(); }, "0 row spaces, expected 2 to 64"},
    {"tooMany", [](auto &m) { encode(m).spaces.resize(65, fixture::blocksOf(2)); },
     "65 row spaces, expected 2 to 64"},
    {"swapped", [](auto &m) { std::swap(encode(m).spaces[0], encode(m).spaces[1]); },
     "row space 0 has kind 1 and size 0, expected tokens, sequences, then spaces derived"},
    {"kind", [](auto &m) { encode(m).spaces.push_back({2, 200}); }, "row space 2 has kind 200"},
    {"tokensAgain", [](auto &m) { encode(m).spaces.push_back({0, 0}); },
     "row space 2 has kind 0 and size 0"},
    {"tokensOfSize", [](auto &m) { encode(m).spaces[0] = {2, 0}; },
     "row space 0 has kind 0 and size 2"},
    {"blocksOfOne", [](auto &m) { encode(m).spaces.push_back(fixture::blocksOf(1)); },
     "row space 2 has kind 2 and size 1"},
    {"blocksTooLarge",
     [](auto &m) { encode(m).spaces.push_back(fixture::blocksOf((1 << 20) + 1)); },
     "row space 2 has kind 2 and size 1048577"},
    {"blocksTwice",
     [](auto &m) {
       encode(m).spaces = blockSpaces();
       encode(m).spaces[3] = fixture::blocksOf(2);
     },
     "row space 3 repeats \"blocks(tokens, 2)\""},
    {"choicesOfChoices",
     [](auto &m) {
       encode(m).spaces.push_back(spaceOf(RowSpaceKind::Choices, SplitSize{2, 6, 0}.packed()));
     },
     "row space 2 has kind 6 and size 1538, expected tokens, sequences, then spaces derived"},
    {"choicesOfSteps",
     [](auto &m) {
       encode(m).spaces.push_back(spaceOf(RowSpaceKind::Choices, SplitSize{2, 3, 0}.packed()));
     },
     "row space 2 has kind 6 and size 770"},
    {"choicesOfNothing",
     [](auto &m) {
       encode(m).spaces.push_back(spaceOf(RowSpaceKind::Choices, SplitSize{0, 0, 0}.packed()));
     },
     "row space 2 has kind 6 and size 0"},
    {"gridOfOnePixel",
     [](auto &m) {
       encode(m).spaces.push_back(spaceOf(RowSpaceKind::Grid, GridSize{1, 2, 2}.packed()));
     },
     "row space 2 has kind 7 and size 66050"},
    {"gridOfAnyWidthWithoutStride",
     [](auto &m) {
       encode(m).spaces.push_back(
           spaceOf(RowSpaceKind::Grid, GridSize{GridSize::anyWidth, 2, 0}.packed()));
     },
     "row space 2 has kind 7 and size 512"},
    {"limitOfNoRows", [](auto &m) { encode(m).rowLimits.emplace_back(0, 0); },
     "limit 0 of 0 rows of row space 0, expected 1 to 2147483647 of one of 2"},
    {"limitOfTokens", [](auto &m) { encode(m).rowLimits.emplace_back(9, 0); },
     "limit 0 is of row space 0, expected one of images of any width"},
    {"limitOfNoSpace", [](auto &m) { encode(m).rowLimits.emplace_back(9, 2); },
     "limit 0 of 9 rows of row space 2, expected 1 to 2147483647 of one of 2"},
    {"gridWithoutStride",
     [](auto &m) {
       encode(m).spaces.push_back(spaceOf(RowSpaceKind::Grid, GridSize{9, 0, 1}.packed()));
     },
     "row space 2 has kind 7 and size 589825"},
    {"stepsOfSize", [](auto &m) { encode(m).spaces.push_back(spaceOf(RowSpaceKind::Steps, 2)); },
     "row space 2 has kind 3 and size 2"},
    {"longestSteps",
     [](auto &m) {
       encode(m).spaces.push_back(spaceOf(RowSpaceKind::Steps, 0));
       encode(m).buffers[6].shape[0] = Dimension(0, 2, true);
     },
     "a dimension of the most steps of a sequence"},
    {"sizeTermOfRanks",
     [](auto &m) {
       encode(m).spaces.push_back(spaceOf(RowSpaceKind::Ranks, 0));
       encode(m).arena = {manifest::SizeTerm(64, 0, 3)};
     },
     "arena has a term of the most ranks of a sequence"},
    {"longestSequences",
     [](auto &m) { encode(m).buffers[6].shape[0] = Dimension(0, sequencesSpace, true); },
     "a dimension of the most sequences of a sequence"},
    {"sizeTermOfSequences", [](auto &m) { encode(m).arena = {manifest::SizeTerm(64, 0, 2)}; },
     "arena has a term of the most sequences of a sequence"},
    {"sizeTerm", [](auto &m) { encode(m).arena = {manifest::SizeTerm(64, 2, 0)}; },
     "arena has a term of row space 2 and key space 0, expected less than 2 and at most 2"},
    {"sizeTermKeys", [](auto &m) { encode(m).arena = {manifest::SizeTerm(64, 0, 3)}; },
     "arena has a term of row space 0 and key space 3"},
    {"sizeTermTwice",
     [](auto &m) {
       encode(m).buffers[6].offset = {manifest::SizeTerm(64, 0, 0), manifest::SizeTerm(64, 0, 0)};
     },
     "offset has two terms of row space 0 and key space 0"},
    {"arenaOfBlocks",
     [](auto &m) {
       encode(m).spaces = blockSpaces();
       encode(m).buffers[6].shape[0] = Dimension(0, 3, false);
     },
     "ends at 128 * blocks(tokens, 4), the arena has 256 * tokens"},
};
INSTANTIATE_TEST_SUITE_P(Spaces, HostileManifest, testing::ValuesIn(spaceCases), nameOf);

static const Case bufferCases[] = {
    {"location", [](auto &m) { encode(m).buffers[6].location = Location(6); },
     "buffer 6: unknown location 6 or element type 0"},
    {"element", [](auto &m) { encode(m).buffers[6].element = ElementType(16); },
     "element type 16, expected at most 5 and 15"},
    {"pairs", [](auto &m) { encode(m).buffers[6].element = ElementType::I4; },
     "elements of i4 at location 2, expected them in parameters only"},
    {"elementTooWide", [](auto &m) { encode(m).buffers[7].element = ElementType::F64; },
     "buffer 7: ends at 384 * tokens, the arena has 256"},
    {"noShape", [](auto &m) { encode(m).buffers[6].shape.clear(); },
     "0 dimensions, expected 1 to 8"},
    {"rank",
     [](auto &m) { encode(m).buffers[6].shape.assign(9, Dimension(2, tokensSpace, false)); },
     "9 dimensions, expected 1 to 8"},
    {"dimensionSpace", [](auto &m) { encode(m).buffers[6].shape[0] = Dimension(0, 3, false); },
     "a dimension of row space 3, there are 2"},
    {"constantInArena",
     [](auto &m) { encode(m).buffers[6].shape[0] = Dimension(4, tokensSpace, false); },
     "of the wrong kind"},
    {"tokensTwice",
     [](auto &m) { encode(m).buffers[6].shape[1] = Dimension(0, tokensSpace, false); },
     "of the wrong kind"},
    {"longestAlone",
     [](auto &m) { encode(m).buffers[6].shape[0] = Dimension(0, tokensSpace, true); },
     "of the wrong kind"},
    {"shapeOverflow",
     [](auto &m) { encode(m).buffers[6].shape[1] = Dimension(UINT64_MAX, tokensSpace, false); },
     "too large or of the wrong kind"},
    {"noOffset", [](auto &m) { encode(m).buffers[6].offset.reset(); },
     "lies in the arena but has no offset"},
    {"offsetAlignment", [](auto &m) { encode(m).buffers[6].offset = sizeTerms(4, 0, 0); },
     "offset 4 * tokens"},
    {"offsetHuge", [](auto &m) { encode(m).buffers[6].offset = sizeTerms(~63ull, 0, 0); },
     "expected coefficients of at most"},
    {"beyondArena", [](auto &m) { encode(m).buffers[7].offset = sizeTerms(192, 0, 0); },
     "ends at 320 * tokens, the arena has 256 * tokens"},
    {"beyondArenaSequences",
     [](auto &m) { encode(m).buffers[6].shape[0] = Dimension(0, sequencesSpace, false); },
     "ends at 128 * sequences, the arena has 256 * tokens"},
    {"beyondArenaSquare",
     [](auto &m) { encode(m).buffers[6].shape[1] = Dimension(0, tokensSpace, true); },
     "4 * tokens * longest, the arena has"},
    {"parameterIndex", [](auto &m) { encode(m).buffers[2].index = 4; }, "parameter 4, there are 4"},
    {"parameterOfOneTarget", [](auto &m) { encode(m).buffers[2].stored = {0}; },
     "buffer 2: 1 parameters, expected one for each of 2 targets"},
    {"parameterOfTheOtherTarget", [](auto &m) { encode(m).buffers[2].stored = {0, 9}; },
     "parameter 9, there are 4"},
    {"parameterTooSmall",
     [](auto &m) { encode(m).buffers[2].shape[0] = Dimension(51, tokensSpace, false); },
     "6528 bytes of f32, parameter \"words\" has 6400 of f32"},
    {"parameterType", [](auto &m) { encode(m).buffers[2].element = ElementType::I32; },
     "6400 bytes of i32, parameter \"words\" has 6400 of f32"},
    {"parameterSymbolic",
     [](auto &m) { encode(m).buffers[2].shape[0] = Dimension(0, tokensSpace, false); },
     "expected constants for a parameter, cache or state"},
    {"inputIndex", [](auto &m) { encode(m).buffers[1].index = 2; }, "port 2, there are 2"},
    {"outputIndex", [](auto &m) { encode(m).buffers[9].index = 1u << 31; },
     "port 2147483648, there are 2"},
    {"outputShared", [](auto &m) { encode(m).buffers[9].index = 0; },
     "bound to port 0, which is bound to buffer 8"},
};
INSTANTIATE_TEST_SUITE_P(Buffers, HostileManifest, testing::ValuesIn(bufferCases), nameOf);

/// Adds an output that observes an attention.
static void observe(ModelSpec &spec) {
  const auto buffer = static_cast<uint32_t>(encode(spec).buffers.size());
  const Shape shape = {Dimension(0, tokensSpace, false), Dimension(2, tokensSpace, false),
                       Dimension(0, tokensSpace, true)};
  encode(spec).outputs.push_back(
      {"self", ElementType::F32, shape, 0, false, buffer, manifest::Observed::Encoder});
  encode(spec).buffers.push_back({Location::Output, ElementType::F32, shape, std::nullopt, 2});
  encode(spec).dispatches.push_back(encode(spec).dispatches.back());
  encode(spec).dispatches.back().operands[0] = manifest::Operand(buffer, 0);
}

/// Changes the second input to rows of floats.
static void takeFloats(ModelSpec &spec) {
  const Shape shape = {Dimension(0, tokensSpace, false), Dimension(width, tokensSpace, false)};
  encode(spec).inputs[1] = {"token_type_ids", ElementType::F32, shape, 0, true, 1};
  encode(spec).buffers[1] = {Location::Input, ElementType::F32, shape, std::nullopt, 1};
}

static const Case portCases[] = {
    {"buffer", [](auto &m) { encode(m).inputs[0].buffer = 99; },
     "bound to port 0, which is bound to buffer 99"},
    {"sameBuffer", [](auto &m) { encode(m).inputs.push_back(encode(m).inputs[0]); },
     "input \"input_ids\": buffer 0 is bound to another port"},
    {"bufferOut",
     [](auto &m) {
       encode(m).inputs.push_back(encode(m).inputs[0]);
       encode(m).inputs.back().buffer = 77;
     },
     "buffer 77, there are 10"},
    {"nameTwice", [](auto &m) { encode(m).inputs[1].name = "input_ids"; },
     "input \"input_ids\" appears twice"},
    {"noShape", [](auto &m) { encode(m).inputs[1].shape.clear(); },
     "input \"token_type_ids\": 0 dimensions"},
    {"shapeDiffers",
     [](auto &m) { encode(m).outputs[0].shape[1] = Dimension(64, tokensSpace, false); },
     "output \"last_hidden_state\": its type differs from that of its buffer 8"},
    {"inputType",
     [](auto &m) {
       encode(m).inputs[0].element = ElementType::F32;
       encode(m).buffers[0].element = ElementType::F32;
     },
     "input \"input_ids\": expected an input of integers, one for each token, or of floats, a row "
     "of "
     "constant width for each token"},
    {"inputOfSequences",
     [](auto &m) {
       takeFloats(m);
       encode(m).inputs[1].shape[0] = Dimension(0, sequencesSpace, false);
       encode(m).buffers[1].shape[0] = Dimension(0, sequencesSpace, false);
     },
     "expected an input of integers, one for each token"},
    {"inputOfHalves",
     [](auto &m) {
       takeFloats(m);
       encode(m).inputs[1].element = encode(m).buffers[1].element = ElementType::F16;
     },
     "expected an input of integers, one for each token"},
    {"inputOfScores",
     [](auto &m) {
       takeFloats(m);
       encode(m).inputs[1].shape[1] = Dimension(0, tokensSpace, true);
       encode(m).buffers[1].shape[1] = Dimension(0, tokensSpace, true);
     },
     "expected an input of integers, one for each token"},
    {"limitOfFloats", [](auto &m) { takeFloats(m), encode(m).inputs[1].limit = 2; },
     "input \"token_type_ids\": limit 2 of floats, expected 0"},
    {"limitZero", [](auto &m) { encode(m).inputs[0].limit = 0; },
     "limit 0, expected 1 to 2147483648"},
    {"limitHuge", [](auto &m) { encode(m).inputs[0].limit = UINT64_MAX; },
     "limit 18446744073709551615, expected 1"},
    {"padBeyondTheIds", [](auto &m) { encode(m).inputs[0].pad = fixture::words; },
     "input \"input_ids\": padding 50, expected -1 to 49"},
    {"padNegative", [](auto &m) { encode(m).inputs[0].pad = -2; }, "padding -2, expected -1 to 49"},
    {"axesOfIds", [](auto &m) { encode(m).inputs[0].axes = {-1, -2, 3}; },
     "input \"input_ids\": axes in files that do not form its rows, expected one of rows, at most "
     "one "
     "of sequences, and 1 columns"},
    {"axesTwice", [](auto &m) { encode(m).inputs[0].axes = {-2, -2}; },
     "input \"input_ids\": axes in files that do not form its rows, expected one of rows, at most "
     "one "
     "of sequences, and 1 columns"},
    {"axesUnknown", [](auto &m) { encode(m).inputs[0].axes = {-1, -2, -5}; },
     "input \"input_ids\": axes in files that do not form its rows, expected one of rows, at most "
     "one "
     "of sequences, and 1 columns"},
    {"afterOfAnInput", [](auto &m) { encode(m).inputs[0].after = "past"; },
     "input \"input_ids\": rows of another input before its own, expected that of outputs alone"},
    {"afterOtherRows",
     [](auto &m) {
       m.entries.push_back(encode(m));
       m.entries.back().name = pastEntry;
       encode(m).outputs[0].after = "input_ids";
     },
     "output \"last_hidden_state\" of entry \"encode\" has rows of 32 elements of f32, and those "
     "of "
     "\"input_ids\" before them in files have 1 elements of i32"},
    {"tooManyRows", [](auto &m) { encode(m).inputs[0].rows = uint64_t{1} << 31; },
     "input \"input_ids\": 2147483648 rows in files, expected at most 2147483647 of an input and 0 "
     "of an output"},
    {"padOfFloats", [](auto &m) { takeFloats(m), encode(m).inputs[1].pad = 1; },
     "padding 1, expected -1 to 0"},
    {"outputType",
     [](auto &m) {
       encode(m).outputs[1].element = ElementType::I32;
       encode(m).buffers[9].element = ElementType::I32;
     },
     "expected an output of floats"},
    {"outputWide",
     [](auto &m) {
       encode(m).outputs[0].shape[1] = Dimension(0, tokensSpace, true);
       encode(m).buffers[8].shape[1] = Dimension(0, tokensSpace, true);
     },
     "expected an output of floats with rows of constant width"},
    {"outputOfRanks",
     [](auto &m) {
       encode(m).spaces.push_back(spaceOf(RowSpaceKind::Ranks, 0));
       encode(m).outputs[1].shape[0] = Dimension(0, 2, false);
       encode(m).buffers[9].shape[0] = Dimension(0, 2, false);
       encode(m).dispatches[3].rows = 2;
       encode(m).dispatches[3].spaces[0] = 2;
     },
     "output \"pooler_output\": an output of ranks, expected rows in the order of their sequences"},
    {"observedUnknown", [](auto &m) { encode(m).inputs[0].observed = manifest::Observed(7); },
     "input \"input_ids\": observed as 7, expected at most 4 of an output and 0 of an input"},
    {"observedInput", [](auto &m) { encode(m).inputs[1].observed = manifest::Observed::Cross; },
     "input \"token_type_ids\": observed as 3, expected at most 4 of an output and 0"},
    {"observedRows", [](auto &m) { encode(m).outputs[1].observed = manifest::Observed::Encoder; },
     "output \"pooler_output\": expected an observed output of floats, [tokens, heads, longest]"},
    {"selectionOfSequences",
     [](auto &m) { encode(m).outputs[1].observed = manifest::Observed::Selection; },
     "output \"pooler_output\": expected a selection of pairs of floats for each token"},
    {"selectionFirst",
     [](auto &m) { encode(m).outputs[0].observed = manifest::Observed::Selection; },
     "output \"last_hidden_state\": is a selection, expected one as the last output"},
    {"observedFirst",
     [](auto &m) {
       observe(m);
       std::swap(encode(m).outputs[1], encode(m).outputs[2]);
       std::swap(encode(m).buffers[9].index, encode(m).buffers.back().index);
     },
     "output \"pooler_output\": follows an observed output, expected observed outputs last"},
    {"outputUnwritten", [](auto &m) { encode(m).dispatches.pop_back(); },
     "output \"pooler_output\" is written by no dispatch"},
    {"tooMany", [](auto &m) { encode(m).inputs.resize(1025, encode(m).inputs[0]); },
     "1025 inputs and 2 outputs, expected at most 1024"},
};
INSTANTIATE_TEST_SUITE_P(Ports, HostileManifest, testing::ValuesIn(portCases), nameOf);

/// Specifies the elements that the two columns of the first dispatch compute.
static void divide(ModelSpec &spec, uint64_t columnElements, uint64_t groupElements) {
  encode(spec).dispatches[0].columnElements = columnElements;
  encode(spec).dispatches[0].groupElements = groupElements;
}

static const Case dispatchCases[] = {
    {"kernel", [](auto &m) { encode(m).dispatches[0].kernel = 5; },
     "dispatch 0 (\"embeddings\"): kernels 5 and -1, there are 5"},
    {"finish", [](auto &m) { encode(m).dispatches[0].finish = 5; }, "kernels 0 and 5, there are 5"},
    {"finishNegative", [](auto &m) { encode(m).dispatches[0].finish = -2; }, "kernels 0 and -2"},
    {"rows", [](auto &m) { encode(m).dispatches[0].rows = 2; },
     "grid rows of row space 2, there are 2"},
    {"rowsUnknown", [](auto &m) { encode(m).dispatches[0].rows = 200; },
     "grid rows of row space 200"},
    {"spaces", [](auto &m) { encode(m).dispatches[3].spaces[1] = 2; },
     "names row space 2, there are 2"},
    {"countedRows", [](auto &m) { encode(m).dispatches[0].countedRows = 2; },
     "counts operations of row spaces 2 and 0, there are 2"},
    {"countedKeys", [](auto &m) { encode(m).dispatches[0].countedKeys = 9; },
     "counts operations of row spaces 0 and 9, there are 2"},
    {"columnsOfOneTarget", [](auto &m) { encode(m).dispatches[0].targetColumns = {{2, 0, 0, 8}}; },
     "the grid has columns for 1 targets, expected 2"},
    {"columnsOfTheOtherTarget",
     [](auto &m) { encode(m).dispatches[0].targetColumns = {{2, 0, 0, 8}, {0, 0, 0, 8}}; },
     "and 0 columns"},
    {"columnsZero", [](auto &m) { encode(m).dispatches[0].columns = 0; }, "and 0 columns"},
    {"columnElements", [](auto &m) { divide(m, 8, 32); },
     "dispatch 0 (\"embeddings\"): 2 columns of 8 elements in groups of 32, expected those of a "
     "result with rows of 32"},
    {"columnElementsHuge", [](auto &m) { divide(m, UINT64_MAX, 32); },
     "2 columns of 18446744073709551615 elements"},
    {"groupElements", [](auto &m) { divide(m, 16, 24); },
     "2 columns of 16 elements in groups of 24, expected those of a result with rows of 32"},
    {"groupElementsZero", [](auto &m) { divide(m, 16, 0); }, "in groups of 0"},
    {"groupElementsHuge", [](auto &m) { divide(m, 16, 1ull << 63); },
     "in groups of 9223372036854775808"},
    {"noOperands", [](auto &m) { encode(m).dispatches[0].operands.clear(); },
     "writes 1 of 0 operands, expected at least one of them"},
    {"writesNothing", [](auto &m) { encode(m).dispatches[0].written = 0; },
     "writes 0 of 5 operands, expected at least one of them"},
    {"writesTooMany", [](auto &m) { encode(m).dispatches[0].written = 6; },
     "writes 6 of 5 operands"},
    {"writesASecondInput", [](auto &m) { encode(m).dispatches[0].written = 2; },
     "operand 1: writes buffer 0, which is an input"},
    {"operandBuffer",
     [](auto &m) { encode(m).dispatches[0].operands[3] = manifest::Operand(10, 0); },
     "operand 3: buffer 10, there are 10"},
    {"writesInput", [](auto &m) { encode(m).dispatches[0].operands[0] = manifest::Operand(0, 0); },
     "operand 0: writes buffer 0, which is an input, a parameter"},
    {"writesParameter",
     [](auto &m) { encode(m).dispatches[0].operands[0] = manifest::Operand(4, 0); },
     "writes buffer 4"},
    {"readsUnwritten", [](auto &m) { std::swap(encode(m).dispatches[0], encode(m).dispatches[1]); },
     "reads buffer 6, which no dispatch before it writes"},
    {"byteOffset", [](auto &m) { encode(m).dispatches[1].operands[1] = manifest::Operand(6, 128); },
     "begins at byte 128 of a row of buffer 6, expected a multiple of 4 less than 128"},
    // The rows of the gather are tokens, and its first input has an integer for each.
    {"chosenByAResult", [](auto &m) { encode(m).dispatches[0].chosenGroups = 2; },
     "rows choose among 2 groups by operand 0, expected at most 65536 and operand 1 to 4"},
    {"chosenAmongMany",
     [](auto &m) {
       encode(m).dispatches[0].chosenGroups = 65537;
       encode(m).dispatches[0].chosenBy = 1;
     },
     "rows choose among 65537 groups by operand 1, expected at most 65536"},
    {"chosenByNothing",
     [](auto &m) {
       encode(m).dispatches[0].chosenGroups = 2;
       encode(m).dispatches[0].chosenBy = 5;
     },
     "rows choose among 2 groups by operand 5"},
    {"chosenByFloats",
     [](auto &m) {
       encode(m).dispatches[0].chosenGroups = 2;
       encode(m).dispatches[0].chosenBy = 3;
     },
     "rows choose by operand 3, which has no integer for each of them"},
    {"chosenByOtherRows",
     [](auto &m) {
       encode(m).dispatches[0].chosenGroups = 2;
       encode(m).dispatches[0].chosenBy = 1;
       encode(m).inputs[0].shape[0] = encode(m).buffers[0].shape[0] =
           Dimension(0, sequencesSpace, false);
       encode(m).dispatches[0].countedRows = sequencesSpace;
     },
     "rows choose by operand 1, which has no integer for each of them"},
    {"unknownArithmetic", [](auto &m) { encode(m).dispatches[0].arithmetic = 3; },
     "multiplies in arithmetic 3, expected at most 2"},
    {"unknownFloatProducts", [](auto &m) { encode(m).dispatches[0].floatProducts = 4; },
     "rounds operands to kind 4, expected at most 3"},
    {"byteOffsetAlignment",
     [](auto &m) { encode(m).dispatches[1].operands[1] = manifest::Operand(6, 2); },
     "begins at byte 2"},
};
INSTANTIATE_TEST_SUITE_P(Dispatches, HostileManifest, testing::ValuesIn(dispatchCases), nameOf);

TEST(ManifestCheck, AcceptsTheFixture) { EXPECT_EQ(check(model()).message(), ""); }

TEST(ManifestCheck, AcceptsRowsThatChoose) {
  ModelSpec spec = model();
  encode(spec).dispatches[0].chosenGroups = 2;
  encode(spec).dispatches[0].chosenBy = 1;
  EXPECT_EQ(check(spec).message(), "");
}

TEST(ManifestCheck, AcceptsColumnsThatMakeUpARow) {
  const std::pair<uint64_t, uint64_t> good[] = {{16, 32}, {17, 32}, {31, 32}, {16, 16}, {48, 16}};
  for (const auto &[columnElements, groupElements] : good) {
    ModelSpec spec = model();
    divide(spec, columnElements, groupElements);
    EXPECT_EQ(check(spec).message(), "") << columnElements << ' ' << groupElements;
  }
}

TEST(ManifestCheck, AcceptsWhatIsObserved) {
  ModelSpec spec = model();
  observe(spec);
  EXPECT_EQ(check(spec).message(), "");
  // Only observed outputs may have rows without a constant width.
  encode(spec).outputs.back().observed = manifest::Observed::No;
  EXPECT_NE(check(spec).message().find("with rows of constant width"), std::string::npos);
}

TEST(ManifestCheck, RefusesWhatIsNoFlatBuffer) {
  for (const size_t size : {0, 1, 4, 8, 64, 1000}) {
    const Status status = checkCopy(std::string(size, '\x5a'), 0);
    EXPECT_EQ(status.message(), "damaged manifest: it is not a FlatBuffer of Heddle's schema");
    EXPECT_EQ(status.code(), StatusCode::DataLoss);
  }
}

TEST(ManifestCheck, RefusesShapesThatAreNotAligned) {
  const ModelSpec spec = model();
  const std::string good = serialize(spec, 0);
  // Shortening a vector's offset by four moves its length and elements; find the shapes by trying.
  size_t found = 0;
  for (size_t at = 0; at + 4 <= good.size(); at += 4) {
    for (const int step : {-4, 4}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] + step);
      const Status status = checkCopy(bytes, spec.actualWeightsSize);
      found += status.message().find("misaligned shape") != std::string::npos;
    }
  }
  EXPECT_GT(found, 0u);
}

TEST(ManifestCheck, SurvivesEveryTruncation) {
  const ModelSpec spec = model();
  const std::string bytes = serialize(spec, 0);
  for (size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_FALSE(checkCopy(bytes.substr(0, size), spec.actualWeightsSize).ok());
  }
}

TEST(ManifestCheck, SurvivesRandomBytes) {
  const ModelSpec spec = model();
  const std::string good = serialize(spec, 0);
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (uint32_t changes = random() % 3 + 1; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const Status status = checkCopy(bytes, spec.actualWeightsSize);
    EXPECT_TRUE(status.ok() || !status.message().empty());
  }
}
