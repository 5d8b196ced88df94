// SPDX-License-Identifier: Apache-2.0
///
/// Decoding at its limits: a full cache, misuse, and models that do not generate.
#include "tests/runtime/Session/DecoderModel.h"

using namespace heddle;
using fixture::vocabulary;
using fixture::width;

TEST(DecoderLimits, AFullCacheRefusesSourcesAndChangesNothing) {
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder({.cacheBytes = 5 * blockBytes});
  const Tokens source(33, 1);
  const SourceView views[] = {source, source};
  SourceId ids[2];
  const Status status = decoder->encode(views, ids);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(), "the cache is full: the memory of sources needs 6 more blocks of "
                              "4096 bytes, and 0 of 20480 bytes are in use");
  EXPECT_EQ(decoder->blocksInUse(), 0);
  EXPECT_TRUE(decoder->encode({views, 1}, {ids, 1}).ok());
}

TEST(DecoderLimits, RefusesMisuse) {
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder();
  Recorder recorder;
  const Tokens source(3, 1);
  const SourceId id = encodeOne(*decoder, source);
  const HypothesisId hypothesis = *decoder->start(id);
  const auto messageOf = [&](std::vector<Extension> extensions) {
    return std::string(decoder->decode(extensions, recorder).message());
  };
  const Tokens one{1};
  const Tokens none;
  const Tokens large{1, 1600};
  const Tokens negative{-1};
  const Tokens many(251, 1);
  EXPECT_EQ(messageOf({{HypothesisId(7), one}}), "no hypothesis 7");
  EXPECT_EQ(messageOf({{HypothesisId(-1), one}}), "no hypothesis -1");
  EXPECT_EQ(messageOf({{hypothesis, one}, {hypothesis, one}}), "hypothesis 0 is extended twice");
  EXPECT_EQ(messageOf({{hypothesis, many}}),
            "hypothesis 0 would have 251 tokens, the model allows at most 250");
  EXPECT_EQ(messageOf({{hypothesis, none}}),
            "entry \"decode\": sequence 1 has 0 tokens, expected at least 1");
  EXPECT_EQ(
      messageOf({{hypothesis, large}}),
      "entry \"decode\": input \"target\" has the value 1600 at position 2 (sequence 1, token "
      "2), expected 0 to 1599");
  EXPECT_EQ(messageOf({{hypothesis, negative}}),
            "entry \"decode\": input \"target\" has the value -1 at position 1 (sequence 1, token "
            "1), expected 0 to 1599");
  EXPECT_EQ(messageOf({}), "");
  EXPECT_EQ(decoder->length(hypothesis), 0);
  EXPECT_EQ(decoder->length(HypothesisId(9)), 0);
  EXPECT_EQ(decoder->start(SourceId(4)).status().message(), "no source 4");
  EXPECT_EQ(decoder->fork(HypothesisId(4)).status().message(), "no hypothesis 4");
  SourceView view = many;
  SourceId ids[2];
  EXPECT_EQ(decoder->encode({&view, 1}, ids).message(), "1 sources and room for 2 numbers of them");
  EXPECT_EQ(decoder->encode({&view, 1}, {ids, 1}).message(),
            "entry \"encode\": sequence 1 has 251 tokens, the model allows at most 200");
  EXPECT_TRUE(decoder->encode({}, {}).ok());
  EXPECT_EQ(messageOf({{hypothesis, one}}), "");
}

TEST(DecoderLimits, RefusesModelsThatDoNotGenerate) {
  const auto messageFor = [](const fixture::ModelSpec &spec) {
    const Model model = loadModel(spec, "refused.so");
    const Result<std::unique_ptr<PagedDecoder>> decoder = PagedDecoder::create(model, {});
    EXPECT_EQ(decoder.status().code(), StatusCode::Unsupported);
    const std::string message(decoder.status().message());
    return message.substr(message.find(": ") + 2);
  };
  fixture::ModelSpec spec = fixture::model();
  EXPECT_EQ(messageFor(spec), "the model does not generate: it has no entry \"decode\"");
  spec = fixture::generatingModel();
  spec.generation.reset();
  spec.entries[1].outputs[1].name = "scores";
  EXPECT_EQ(messageFor(spec), "the model does not generate: entry \"decode\" has no output "
                              "\"logits\" with a row for each token");
  spec.entries[1].outputs[1].name = "attention";
  spec.entries[1].outputs[0].name = "logits";
  EXPECT_EQ(messageFor(spec), "the model does not generate: entry \"decode\" has no output "
                              "\"logits\" with a row for each token");
  spec = fixture::generatingModel();
  spec.generation.reset();
  spec.entries[1].outputs.erase(spec.entries[1].outputs.begin());
  spec.entries[1].buffers[10] = spec.entries[1].buffers[8];
  spec.entries[1].buffers[11].index = 0;
  const Model quiet = loadModel(spec, "no-attention.so");
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder({}, quiet);
  const SourceId id = encodeOne(*decoder, {1, 2});
  const Tokens one{1};
  const Extension extension{*decoder->start(id), one};
  Recorder recorder;
  AttentionWeights weights;
  const Status status = decoder->decode({&extension, 1}, recorder, &weights);
  EXPECT_NE(status.message().find("attention weights are asked for, and entry \"decode\" has no "
                                  "output \"attention\""),
            std::string::npos)
      << status.message();
}

TEST(DecoderLimits, RefusesInputsItCannotFill) {
  fixture::ModelSpec spec = fixture::generatingModel();
  spec.entries[0].inputs[0].optional = true;
  const Model none = loadModel(spec, "no-input.so");
  EXPECT_NE(
      PagedDecoder::create(none, {}).status().message().find("entry \"encode\" needs no input"),
      std::string::npos);
  spec = fixture::generatingModel();
  fixture::EntrySpec &encode = spec.entries[0];
  encode.inputs.push_back(encode.inputs[0]);
  encode.inputs[1].name = "types";
  encode.inputs[1].buffer = static_cast<uint32_t>(encode.buffers.size());
  encode.buffers.push_back(encode.buffers[0]);
  encode.buffers.back().index = 1;
  const Model two = loadModel(spec, "two-inputs.so");
  EXPECT_NE(PagedDecoder::create(two, {}).status().message().find(
                "entry \"encode\" needs the inputs \"source\" and \"types\", expected one"),
            std::string::npos);
  // Sources may be rows of floats, targets are tokens.
  for (const size_t number : {0U, 1U}) {
    spec = fixture::generatingModel();
    spec.generation.reset();
    fixture::EntrySpec &entry = spec.entries[number];
    entry.inputs.push_back(entry.inputs[0]);
    entry.inputs[0].optional = true;
    entry.inputs[1].name = "rows";
    entry.inputs[1].buffer = static_cast<uint32_t>(entry.buffers.size());
    entry.inputs[1].element = ElementType::F32;
    entry.inputs[1].shape.emplace_back(3, tokensSpace, false);
    entry.inputs[1].limit = 0;
    entry.buffers.push_back(entry.buffers[0]);
    entry.buffers.back().index = 1;
    entry.buffers.back().element = ElementType::F32;
    entry.buffers.back().shape = entry.inputs[1].shape;
    const Model rows = loadModel(spec, "rows.so");
    const Status status = PagedDecoder::create(rows, {}).status();
    if (number == 0) {
      ASSERT_EQ(status.message(), "");
      const std::unique_ptr<PagedDecoder> decoder = makeDecoder({}, rows);
      const Tokens three{1, 2, 3};
      const SourceView tokens = three;
      SourceId id{};
      EXPECT_EQ(decoder->encode({&tokens, 1}, {&id, 1}).message(),
                "entry \"encode\": source 1 has 3 numbers of i32, expected rows of 3 of f32");
      const std::vector<float> floats(8);
      const SourceView parts = floats;
      EXPECT_EQ(decoder->encode({&parts, 1}, {&id, 1}).message(),
                "entry \"encode\": source 1 has 8 numbers of f32, expected rows of 3 of f32");
    } else {
      EXPECT_NE(
          status.message().find("entry \"decode\" needs the input \"rows\" of f32, expected ids"),
          std::string::npos)
          << status.message();
    }
  }
}

TEST(DecoderLimits, RefusesCachesThatNothingFills) {
  fixture::ModelSpec spec = fixture::generatingModel();
  // Another entry appends to a cache that "decode" reads.
  spec.entries.push_back(spec.entries[0]);
  spec.entries[2].name = "other";
  spec.entries[0].caches[0].name = "some";
  spec.entries[0].caches[1].name = "more";
  const Model model = loadModel(spec, "unfilled.so");
  const Status status = PagedDecoder::create(model, {}).status();
  EXPECT_NE(status.message().find("entry \"decode\" reads the cache \"cross.value\", which nothing "
                                  "before it fills"),
            std::string::npos)
      << status.message();
}

TEST(DecoderLimits, AnEntryWithCachesIsNotRunAlone) {
  Result<Session> session = Session::create(generatingModel(), {});
  ASSERT_TRUE(session.ok());
  const Tokens ids{1, 2, 3};
  const int32_t length = 3;
  std::vector<float> values(3 * vocabulary);
  const Input target{"target", ids};
  const Output logits{"logits", values};
  const Status status = session->run("decode", {&length, 1}, {&target, 1}, {&logits, 1});
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_NE(status.message().find("entry \"decode\" reads caches that the run of one entry does "
                                  "not have: run encode and decode together, with heddle run "
                                  "without --entry, or generate"),
            std::string::npos)
      << status.message();
  // An entry that only appends needs none.
  const Input source{"source", ids};
  values.resize(3 * width);
  const Output states{"encoder", values};
  EXPECT_EQ(session->run("encode", {&length, 1}, {&source, 1}, {&states, 1}).message(), "");
}

TEST(DecoderLimits, AttentionWeightsAreNotAnOutputOfARun) {
  // An entry that reads no caches but those that it appends to.
  fixture::ModelSpec spec = fixture::generatingModel();
  fixture::EntrySpec &decode = spec.entries[1];
  decode.caches.resize(2);
  decode.buffers[5] = decode.buffers[6] = decode.buffers[8];
  decode.dispatches[4].operands[2] = manifest::Operand(3, 0);
  decode.dispatches[5].operands[2] = manifest::Operand(3, 0);
  decode.dispatches[5].operands[3] = manifest::Operand(4, 0);
  Result<Session> session = Session::create(loadModel(spec, "history.so"), {});
  ASSERT_TRUE(session.ok());
  const Tokens ids{1};
  const int32_t length = 1;
  std::vector<float> values(vocabulary);
  const Input target{"target", ids};
  const Output weights{"attention", values};
  EXPECT_EQ(
      session->run("decode", {&length, 1}, {&target, 1}, {&weights, 1}).message(),
      "entry \"decode\": output \"attention\" has rows as long as the longest sequence, which "
      "only a decoder gives");
  const Output logits{"logits", values};
  const Status status = session->run("decode", {&length, 1}, {&target, 1}, {&logits, 1});
  EXPECT_NE(status.message().find("entry \"decode\" reads caches"), std::string::npos);
}
