// SPDX-License-Identifier: Apache-2.0
///
/// Invalid manifests of generating models: every cache, token and default is checked.
#include "formats/Binary/ManifestCheck.h"
#include "heddle/RectangleEntries.h"
#include "tests/runtime/Artifact/FixtureModel.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::fixture;
using manifest::CacheLayout;
using manifest::Dimension;
using manifest::Location;
using manifest::Operand;

namespace {
/// A change, and part of the message that rejects it.
struct Case {
  const char *name;
  std::function<void(ModelSpec &)> change;
  const char *message;
};
} // namespace

static Status check(const ModelSpec &spec) {
  const std::string bytes = serialize(spec, 0);
  // Aligned like the section in a file.
  std::vector<std::max_align_t> copy(bytes.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return checkManifest(std::as_bytes(std::span(copy)).first(bytes.size()),
                       {.weightsSize = spec.actualWeightsSize});
}

static std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }

static EntrySpec &encode(ModelSpec &spec) { return spec.entries[0]; }
static EntrySpec &decode(ModelSpec &spec) { return spec.entries[1]; }

class HostileCaches : public testing::TestWithParam<Case> {};

TEST_P(HostileCaches, AreRefused) {
  ModelSpec spec = generatingModel();
  ASSERT_EQ(check(spec).message(), "");
  GetParam().change(spec);
  const Status status = check(spec);
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

static const Case cacheCases[] = {
    {"index", [](auto &m) { decode(m).buffers[3].index = 4; }, "buffer 3: cache 4, there are 4"},
    {"noCaches", [](auto &m) { decode(m).caches.clear(); }, "cache 0, there are 0"},
    {"indexShared", [](auto &m) { decode(m).buffers[4].index = 0; },
     "bound to cache 0, which is bound to buffer 3"},
    {"width", [](auto &m) { decode(m).caches[0].width = 33; },
     "128 bytes of f32, cache \"self.key\" has 33 elements of type 0"},
    {"widthOverflow", [](auto &m) { decode(m).caches[0].width = (1ull << 62) + 32; },
     "has 4611686018427387936 elements of type 0"},
    {"readFromNoSize",
     [](auto &m) { decode(m).caches[0].readFrom = {manifest::PositionBound(0, 0, 1, 0)}; },
     "read from (i + 0) / 0 * 1 + 0, expected a size from 1"},
    {"readFromNegativeShift",
     [](auto &m) { decode(m).caches[0].readFrom = {manifest::PositionBound(-1, 4, 4, 0)}; },
     "read from (i + -1) / 4 * 4 + 0, expected a size from 1"},
    {"readFromNegativeStep",
     [](auto &m) { decode(m).caches[0].readFrom = {manifest::PositionBound(0, 4, -4, 0)}; },
     "read from (i + 0) / 4 * -4 + 0, expected a size from 1"},
    {"readFromFar",
     [](auto &m) {
       decode(m).caches[0].readFrom = {manifest::PositionBound(0, 1, 1, -(1LL << 40))};
     },
     "read from (i + 0) / 1 * 1 + -1099511627776, expected a size from 1"},
    {"widthZero", [](auto &m) { decode(m).caches[0].width = 0; }, "has 0 elements of type 0"},
    {"widthHuge",
     [](auto &m) {
       decode(m).caches[0].width = 1 << 21;
       decode(m).buffers[3].shape[0] = Dimension(1 << 21, tokensSpace, false);
     },
     "cache \"self.key\": width 2097152, layout 0 and element type 0, expected 1 to 1048576, at "
     "most "
     "1 and at most 15"},
    {"layout", [](auto &m) { decode(m).caches[0].layout = CacheLayout(2); },
     "width 32, layout 2 and element type 0"},
    {"element", [](auto &m) { decode(m).buffers[3].element = ElementType::I32; },
     "128 bytes of i32, cache \"self.key\" has 32 elements of type 0"},
    {"elementUnknown", [](auto &m) { decode(m).caches[0].element = ElementType(16); },
     "has 32 elements of type 16"},
    {"symbolic", [](auto &m) { decode(m).buffers[3].shape[0] = Dimension(0, tokensSpace, false); },
     "expected constants for a parameter, cache or state"},
    {"bufferBeyond",
     [](auto &m) { decode(m).caches.push_back({"more", width, CacheLayout::Rows, true, 99}); },
     "cache \"more\": buffer 99, there are 12"},
    {"bufferOfAnother",
     [](auto &m) { decode(m).caches.push_back({"more", width, CacheLayout::Rows, true, 4}); },
     "cache \"more\": buffer 4 is bound to another port"},
    {"bufferNoCache",
     [](auto &m) { decode(m).caches.push_back({"more", width, CacheLayout::Rows, true, 7}); },
     "cache \"more\": buffer 7 is bound to another port"},
    {"nameTwice", [](auto &m) { decode(m).caches[1].name = "self.key"; },
     "cache \"self.key\" appears twice"},
    {"tooMany", [](auto &m) { decode(m).caches.resize(1025, decode(m).caches[0]); },
     "1025 caches, expected at most 1024"},
    {"notAppended", [](auto &m) { decode(m).dispatches[1].operands[0] = Operand(9, 0); },
     "dispatch 3 (\"self\"): operand 2: reads buffer 3, which no dispatch before it writes"},
    {"neverAppended", [](auto &m) { encode(m).dispatches.pop_back(); },
     "cache \"cross.value\": no dispatch appends to it"},
    {"appendedTwice", [](auto &m) { decode(m).dispatches[2].operands[0] = Operand(3, 0); },
     "changes the cache of buffer 3 a second time"},
    {"appendedToReadOnly", [](auto &m) { decode(m).dispatches[1].operands[0] = Operand(5, 0); },
     "writes buffer 5, which is an input, a parameter, or a cache or state that is only read"},
    {"byteOffset", [](auto &m) { decode(m).dispatches[3].operands[2] = Operand(3, 4); },
     "begins at byte 4 of a row of buffer 3, expected a multiple of 4 less than 1"},
    {"widthsDiffer",
     [](auto &m) {
       encode(m).caches[0].width = 16;
       encode(m).buffers[3].shape[0] = Dimension(16, tokensSpace, false);
     },
     "cache \"cross.key\" has 32 elements of f32 and layout 0 in entry \"decode\", and 16 elements "
     "of f32 and layout 0 before it"},
    {"layoutsDiffer", [](auto &m) { encode(m).caches[0].layout = CacheLayout::Rows; },
     "has 32 elements of f32 and layout 0 in entry \"decode\", and 32 elements of f32 and layout 1 "
     "before it"},
    {"elementsDiffer",
     [](auto &m) {
       encode(m).caches[0].element = encode(m).buffers[3].element = ElementType::BF16;
     },
     "has 32 elements of f32 and layout 0 in entry \"decode\", and 32 elements of bf16 and layout "
     "0 before it"},
    {"nobodyAppends", [](auto &m) { encode(m).caches[0].name = "else"; },
     "0 entries append to cache \"cross.key\", expected one"},
    {"bothAppend", [](auto &m) { m.entries.push_back(encode(m)), m.entries[2].name = "again"; },
     "2 entries append to cache \"cross.key\", expected one"},
    {"threeAppend",
     [](auto &m) {
       m.entries.insert(m.entries.end(), 2, encode(m));
       m.entries[2].name = pastEntry;
       m.entries[3].name = "again";
     },
     "3 entries append to cache \"cross.key\", expected one"},
    {"attentionRows",
     [](auto &m) {
       decode(m).outputs[0].shape.push_back(Dimension(2, tokensSpace, false));
       decode(m).buffers[10].shape = decode(m).outputs[0].shape;
     },
     "expected an output of floats with rows of constant width"},
    {"positionsOfNoSpace", [](auto &m) { encode(m).appended = 2; },
     "caches have positions of row space 2, expected tokens or one that derives from them"},
    {"positionsOfSequences", [](auto &m) { encode(m).appended = sequencesSpace; },
     "caches have positions of row space 1, expected tokens or one that derives from them"},
    {"positionsOfOtherRows",
     [](auto &m) {
       encode(m).spaces.push_back(fixture::blocksOf(2));
       encode(m).appended = 2;
     },
     "appends rows of row space 0 to a cache with positions of row space 2"},
    {"besideBlocks", [](auto &m) { decode(m).spaces.push_back(fixture::blocksOf(2)); },
     "dispatch 3 reads a cache or state in an entry with 1 derived row spaces, expected none"},
};
INSTANTIATE_TEST_SUITE_P(Caches, HostileCaches, testing::ValuesIn(cacheCases), nameOf);

class HostileStates : public testing::TestWithParam<Case> {};

TEST_P(HostileStates, AreRefused) {
  ModelSpec spec = averagingModel();
  ASSERT_EQ(check(spec).message(), "");
  GetParam().change(spec);
  const Status status = check(spec);
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

static const Case stateCases[] = {
    {"readAfterItsChange",
     [](auto &m) { std::swap(decode(m).dispatches[1], decode(m).dispatches[2]); },
     "dispatch 2 (\"mean\"): operand 2: reads the state of buffer 12 after it was changed"},
    {"readByWhatChangesIt",
     [](auto &m) {
       decode(m).dispatches[1].operands = {{13, 0}, {12, 0}, {7, 0}, {12, 0}};
       decode(m).dispatches[1].written = 2;
       decode(m).dispatches.erase(decode(m).dispatches.begin() + 2);
     },
     "dispatch 1 (\"mean\"): operand 3: reads the state of buffer 12 after it was changed"},
    {"changedTwiceAtOnce",
     [](auto &m) {
       decode(m).dispatches[2].operands = {{12, 0}, {12, 0}, {7, 0}};
       decode(m).dispatches[2].written = 2;
     },
     "dispatch 2 (\"sum\"): operand 1: changes the state of buffer 12 a second time"},
    {"index", [](auto &m) { decode(m).buffers[12].index = 1; }, "buffer 12: state 1, there are 1"},
    {"tooMany", [](auto &m) { decode(m).states.resize(1025, decode(m).states[0]); },
     "1025 states, expected at most 1024"},
    {"element", [](auto &m) { decode(m).states[0].element = ElementType::F16; },
     "128 bytes of f32, state \"sum\" has 32 elements of type 3"},
    {"widthHuge",
     [](auto &m) {
       decode(m).states[0].width = 1 << 21;
       decode(m).buffers[12].shape[0] = Dimension(1 << 21, tokensSpace, false);
     },
     "state \"sum\": width 2097152, expected 1 to 1048576"},
    {"nameTwice",
     [](auto &m) {
       decode(m).states.push_back({"sum", width, false, uint32_t(decode(m).buffers.size())});
       decode(m).buffers.push_back(decode(m).buffers[12]);
       decode(m).buffers.back().index = 1;
     },
     "state \"sum\" appears twice"},
    {"bufferOfAnother", [](auto &m) { decode(m).states.push_back({"more", width, false, 3}); },
     "state \"more\": buffer 3 is bound to another port"},
    {"widthsDiffer",
     [](auto &m) {
       m.entries.push_back(decode(m));
       m.entries[2].name = "again";
       m.entries[2].states[0].width = 16;
       m.entries[2].buffers[12].shape[0] = Dimension(16, tokensSpace, false);
       m.entries[2].caches[0].name = "a";
       m.entries[2].caches[1].name = "b";
     },
     "state \"sum\" has 16 elements of f32 in entry \"again\", and 32 elements of f32 before it"},
    {"otherKeys",
     [](auto &m) {
       m.entries.push_back(decode(m));
       m.entries[2].name = "again";
       m.entries[2].states[0].keyed = true;
       m.entries[2].caches[0].name = "a";
       m.entries[2].caches[1].name = "b";
     },
     "state \"sum\" has 32 elements of f32 for each key in entry \"again\", and 32 elements of f32 "
     "before it"},
    {"twoChange",
     [](auto &m) {
       m.entries.push_back(decode(m));
       m.entries[2].name = "again";
       m.entries[2].caches[0].name = "a";
       m.entries[2].caches[1].name = "b";
     },
     "2 entries change state \"sum\", expected one"},
    {"changedTwice", [](auto &m) { decode(m).dispatches.push_back(decode(m).dispatches[2]); },
     "changes the state of buffer 12 a second time"},
    {"neverChanged", [](auto &m) { decode(m).dispatches.erase(decode(m).dispatches.begin() + 2); },
     "state \"sum\": no dispatch changes it"},
    {"notItsOwn", [](auto &m) { decode(m).states[0].written = false; },
     "writes buffer 12, which is an input, a parameter, or a cache or state that is only read"},
    {"width", [](auto &m) { decode(m).states[0].width = 33; },
     "128 bytes of f32, state \"sum\" has 33 elements of type 0"},
    {"noState",
     [](auto &m) {
       decode(m).states.clear();
       decode(m).caches.push_back({"sum", width, CacheLayout::Rows, true, 12});
       decode(m).buffers[12].location = Location::Cache;
       decode(m).buffers[12].index = 4;
     },
     "dispatch 1 (\"mean\"): operand 2: reads buffer 12, which no dispatch before it writes"},
    {"besideBlocks", [](auto &m) { decode(m).spaces.push_back(fixture::blocksOf(2)); },
     "dispatch 1 reads a cache or state in an entry with 1 derived row spaces, expected none"},
    {"updatedBesideBlocks",
     [](auto &m) {
       m = fixture::historylessModel();
       decode(m).spaces.push_back(fixture::blocksOf(2));
     },
     "dispatch 1 reads a cache or state in an entry with 1 derived row spaces, expected none"},
};
INSTANTIATE_TEST_SUITE_P(States, HostileStates, testing::ValuesIn(stateCases), nameOf);

TEST(CacheCheck, AcceptsStates) {
  EXPECT_EQ(check(averagingModel()).message(), "");
  EXPECT_EQ(check(historylessModel()).message(), "");
}

static const Case generationCases[] = {
    {"noDecode", [](auto &m) { m.entries[1].name = "step"; },
     "generation: no entry \"decode\" with an input and an output \"logits\""},
    {"noLogits", [](auto &m) { decode(m).outputs[1].name = "scores"; }, "an output \"logits\""},
    {"noStart", [](auto &m) { m.generation->start.clear(); },
     "0 start tokens and 1 end tokens, expected at least one of each"},
    {"noEnd", [](auto &m) { m.generation->end.clear(); }, "1 start tokens and 0 end tokens"},
    {"start", [](auto &m) { m.generation->start[0] = vocabulary; },
     "start token 1600, expected 0 to 1599"},
    {"end", [](auto &m) { m.generation->end[0] = -1; }, "end token -1, expected 0 to 1599"},
    {"suppressed", [](auto &m) { m.generation->suppressed[0] = 1 << 30; },
     "suppressed token 1073741824, expected 0 to 1599"},
    {"pad", [](auto &m) { m.generation->pad = -2; }, "pad token -2, expected -1 to 1599"},
    {"forcedFirst", [](auto &m) { m.generation->forcedFirst = vocabulary; },
     "forced first token 1600, expected -1 to 1599"},
    {"forcedLast", [](auto &m) { m.generation->forcedLast = vocabulary; },
     "forced last token 1600, expected -1 to 1599"},
    {"rules", [](auto &m) { m.generation->rules = "mine"; },
     "rules \"mine\", expected paper, transformers or ctranslate2"},
    {"maxLength", [](auto &m) { m.generation->maxLength = -1; },
     "max_length -1, min_length 0, no_repeat_ngram 0 and beams 4, expected at least 0, 0, 0 and 1 "
     "to 1024"},
    {"ngram", [](auto &m) { m.generation->noRepeatNgram = -1; }, "no_repeat_ngram -1"},
    {"beamsNone", [](auto &m) { m.generation->beams = 0; }, "beams 0"},
    {"beamsHuge", [](auto &m) { m.generation->beams = 1025; }, "beams 1025"},
    {"lengthPenalty", [](auto &m) { m.generation->lengthPenalty = NAN; },
     "length_penalty nan and repetition_penalty 1, expected -10000 to 10000 and 1e-06 to 1000000"},
    {"repetitionPenalty", [](auto &m) { m.generation->repetitionPenalty = 0; },
     "repetition_penalty 0"},
    {"repetitionPenaltyHuge", [](auto &m) { m.generation->repetitionPenalty = 2e6F; },
     "repetition_penalty 2000000"},
    {"minLength", [](auto &m) { m.generation->minLength = -1; }, "min_length -1"},
    {"stopping", [](auto &m) { m.generation->earlyStopping = m.generation->neverStopEarly = true; },
     "early_stopping and never_stop_early, expected one of them"},
    {"temperature", [](auto &m) { m.generation->temperature = 0; },
     "temperature 0, top_k 0, top_p 1 and min_p 0, expected a finite number above 0, at least 0, "
     "above 0 to 1 and 0 to 1"},
    {"temperatureHuge", [](auto &m) { m.generation->temperature = INFINITY; }, "temperature inf"},
    {"topK", [](auto &m) { m.generation->topK = -1; }, "top_k -1"},
    {"topP", [](auto &m) { m.generation->topP = 0; }, "top_p 0"},
    {"topPLarge", [](auto &m) { m.generation->topP = 1.5F; }, "top_p 1.5"},
    {"minP", [](auto &m) { m.generation->minP = NAN; }, "min_p nan"},
    {"contextLength", [](auto &m) { m.generation->contextLength = -1; },
     "context_length -1, expected at least 0"},
    {"readsLess", [](auto &m) { decode(m).inputs[0].limit = vocabulary - 1; },
     "generation: 1600 tokens can be generated, only 1599 of them can be fed back"},
    {"onlyOptional", [](auto &m) { decode(m).inputs[0].optional = true; },
     "no entry \"decode\" with an input"},
};
INSTANTIATE_TEST_SUITE_P(Generation, HostileCaches, testing::ValuesIn(generationCases), nameOf);

TEST(CacheCheck, AcceptsTheGeneratingModel) {
  ModelSpec spec = generatingModel();
  spec.targetTokenizer = true;
  EXPECT_EQ(check(spec).message(), "");
}

TEST(CacheCheck, LanguagesHaveTokensAndAPlace) {
  ModelSpec spec = generatingModel();
  const auto message = [&](ModelSpec::LanguageSpec languages) {
    spec.languages = std::move(languages);
    return std::string(check(spec).message());
  };
  const std::string prefix = "damaged manifest: languages: ";
  EXPECT_EQ(message({{"a", "b"}, {1, 2}}), "");
  EXPECT_EQ(message({{"a", "b"}, {1, 2}, true, true, 0, 1}), "");
  EXPECT_EQ(message({{"a"}, {1, 2}}),
            prefix + "1 names and 2 tokens, expected as many of both, at least one");
  EXPECT_EQ(message({{}, {}}),
            prefix + "0 names and 0 tokens, expected as many of both, at least one");
  EXPECT_EQ(message({{"b", "a"}, {1, 2}}),
            prefix + "name \"a\" after \"b\", expected them ascending");
  EXPECT_EQ(message({{"a", "a"}, {1, 2}}),
            prefix + "name \"a\" after \"a\", expected them ascending");
  EXPECT_EQ(message({{"a", "b"}, {1, 2}, false, false, 2}),
            prefix + "language 2, expected -1 to 1");
  EXPECT_EQ(message({{"a", "b"}, {1, 2}, false, false, 0, -2}),
            prefix + "language -2, expected -1 to 1");
  EXPECT_NE(message({{"a"}, {vocabulary}}).find(prefix + "language token 1600, expected 0 to "),
            std::string::npos);
  EXPECT_NE(message({{"a"}, {-1}}).find(prefix + "language token -1, expected 0 to "),
            std::string::npos);
  spec = model();
  EXPECT_EQ(message({{"a"}, {1}}), prefix + "the model has no generation from sources of tokens");
}

TEST(CacheCheck, AttentionIsOnlyForEntriesWithCaches) {
  ModelSpec spec = model();
  spec.entries[0].outputs[0].shape = {Dimension(0, tokensSpace, false),
                                      Dimension(2, tokensSpace, false),
                                      Dimension(0, tokensSpace, true)};
  spec.entries[0].buffers[8].shape = spec.entries[0].outputs[0].shape;
  EXPECT_NE(check(spec).message().find("with rows of constant width"), std::string_view::npos);
}

TEST(CacheCheck, ClassifiersHaveAScoreForEachLabel) {
  ModelSpec spec = model();
  spec.labels = {"no", "yes"};
  EXPECT_EQ(check(spec).message(),
            "damaged manifest: classification: no entry \"classify\" with an output \"logits\"");
  spec.entries[1].name = "classify";
  spec.entries[1].outputs[0].name = "logits";
  const uint64_t width = spec.entries[1].outputs[0].shape[1].constant();
  EXPECT_EQ(check(spec).message(), "damaged manifest: classification: 2 labels for " +
                                       std::to_string(width) + " scores, expected one for each");
  spec.labels->resize(width);
  EXPECT_EQ(check(spec).message(), "");
  spec.problem = static_cast<manifest::Problem>(7);
  EXPECT_EQ(check(spec).message(),
            "damaged manifest: classification: a problem of kind 7, expected at most 2");
}
