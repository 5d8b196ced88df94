// SPDX-License-Identifier: Apache-2.0
///
/// Uses heddle.h as a C program does.
#include "heddle/heddle.h"

#include "tests/runtime/Artifact/FixtureModel.h"
#include "tests/runtime/Session/TestDevice.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

using heddle::fixture::width;

namespace {
/// The code and message of an error, which it frees.
struct Answer {
  int32_t code;
  std::string message;
  Answer(heddle_error *error)
      : code(heddle_error_code(error)), message(heddle_error_message(error)) {
    heddle_error_free(error);
  }
};
using ModelPointer = std::unique_ptr<heddle_model, decltype(&heddle_model_free)>;
using SessionPointer = std::unique_ptr<heddle_session, decltype(&heddle_session_free)>;
} // namespace

static ModelPointer load(const heddle_model_options *options = nullptr) {
  const std::string path = heddle::fixture::temporaryPath("c.so");
  EXPECT_TRUE(heddle::fixture::write(heddle::fixture::model(), path).ok());
  heddle_model *model = nullptr;
  const Answer answer(heddle_model_load(path.c_str(), options, &model));
  EXPECT_EQ(answer.message, "");
  return {model, heddle_model_free};
}

static SessionPointer start(const heddle_model *model) {
  heddle_session_options options = HEDDLE_SESSION_OPTIONS_INIT;
  options.threads = 2;
  heddle_session *session = nullptr;
  EXPECT_EQ(Answer(heddle_session_create(model, &options, &session)).message, "");
  return {session, heddle_session_free};
}

TEST(CInterface, Describes) {
  heddle_model_options options = HEDDLE_MODEL_OPTIONS_INIT;
  options.verify_weights = 1;
  const ModelPointer model = load(&options);
  EXPECT_NE(std::string(heddle_model_isa(model.get())).find("x86-64"), std::string::npos);
  EXPECT_STREQ(heddle_model_precision(model.get()), "f32");
  EXPECT_STREQ(heddle_model_cache_precision(model.get()), "none");
  EXPECT_EQ(heddle_model_kept_count(model.get()), 0);
  EXPECT_STREQ(heddle_model_device(model.get()), "cpu");
  EXPECT_EQ(heddle_model_entry_count(model.get()), 2);
  EXPECT_STREQ(heddle_model_entry_name(model.get(), 1), "embed");
  EXPECT_EQ(heddle_model_entry_name(model.get(), 2), nullptr);
  EXPECT_EQ(heddle_model_entry_max_length(model.get(), 0), heddle::fixture::longest);
  EXPECT_EQ(heddle_model_entry_image_width(model.get(), 0), 1);
  EXPECT_EQ(heddle_model_entry_image_width(model.get(), 7), 1);
  EXPECT_EQ(heddle_model_port_count(model.get(), 0, HEDDLE_OUTPUT), 2);
  EXPECT_EQ(heddle_model_port_count(model.get(), 7, HEDDLE_OUTPUT), 0);
  heddle_port port;
  ASSERT_EQ(Answer(heddle_model_port(model.get(), 0, HEDDLE_INPUT, 1, &port)).message, "");
  EXPECT_STREQ(port.name, "token_type_ids");
  EXPECT_EQ(port.element, HEDDLE_I32);
  EXPECT_EQ(port.optional, 1);
  EXPECT_EQ(port.limit, heddle::fixture::types);
  EXPECT_EQ(port.rank, 1);
  EXPECT_EQ(port.shape[0], HEDDLE_TOKENS);
  const Answer answer(heddle_model_port(model.get(), 0, HEDDLE_OUTPUT, 2, &port));
  EXPECT_EQ(answer.code, HEDDLE_STATUS_OutOfRange);
  EXPECT_EQ(answer.message, "output 2 of entry 0, there are 2");
}

TEST(CInterface, SaysWhatWasKept) {
  heddle::fixture::ModelSpec spec = heddle::fixture::model();
  spec.kept = {{"attention.self", "int8", 18, 1269504}, {"layer.4", "bf16", 6, 12}};
  const std::string path = heddle::fixture::temporaryPath("kept.so");
  ASSERT_TRUE(heddle::fixture::write(spec, path).ok());
  heddle_model *loaded = nullptr;
  ASSERT_EQ(Answer(heddle_model_load(path.c_str(), nullptr, &loaded)).message, "");
  const ModelPointer model(loaded, heddle_model_free);
  ASSERT_EQ(heddle_model_kept_count(model.get()), 2);
  heddle_kept_layers kept;
  ASSERT_EQ(Answer(heddle_model_kept(model.get(), 1, &kept)).message, "");
  EXPECT_STREQ(kept.layers, "layer.4");
  EXPECT_STREQ(kept.precision, "bf16");
  EXPECT_EQ(kept.tensors, 6);
  EXPECT_EQ(kept.bytes, 12);
  for (const int64_t index : {-1, 2}) {
    const Answer answer(heddle_model_kept(model.get(), index, &kept));
    EXPECT_EQ(answer.code, HEDDLE_STATUS_OutOfRange);
    EXPECT_EQ(answer.message, "kept layers " + std::to_string(index) + ", there are 2");
  }
  EXPECT_EQ(Answer(heddle_model_kept(nullptr, 0, &kept)).code, HEDDLE_STATUS_InvalidArgument);
  EXPECT_EQ(Answer(heddle_model_kept(model.get(), 0, nullptr)).code, HEDDLE_STATUS_InvalidArgument);
}

TEST(CInterface, RunsOnTheDeviceAskedFor) {
  const std::string path = heddle::fixture::temporaryPath("devices.so");
  const auto spec = heddle::fixture::withDevice(heddle::fixture::model());
  ASSERT_TRUE(heddle::fixture::write(spec, path).ok());
  heddle_model_options options = HEDDLE_MODEL_OPTIONS_INIT;
  const std::string device = heddle::testsCpu() ? "cpu" : "cuda:0";
  options.device = device.c_str();
  heddle_model *loaded = nullptr;
  ASSERT_EQ(Answer(heddle_model_load(path.c_str(), &options, &loaded)).message, "");
  EXPECT_EQ(heddle_model_device(loaded), device);
  heddle_model_free(loaded);
  // Programs that were compiled before the field existed.
  options.struct_size = offsetof(heddle_model_options, device);
  options.device = "nonsense";
  ASSERT_EQ(Answer(heddle_model_load(path.c_str(), &options, &loaded)).message, "");
  EXPECT_STREQ(heddle_model_device(loaded), "cpu");
  heddle_model_free(loaded);
  options.struct_size = sizeof options;
  const Answer answer(heddle_model_load(path.c_str(), &options, &loaded));
  EXPECT_EQ(answer.code, HEDDLE_STATUS_InvalidArgument);
  EXPECT_EQ(answer.message, "device \"nonsense\", expected cpu, cuda, cuda:N or auto");
}

TEST(CInterface, SaysHowManyRowsASequenceHas) {
  EXPECT_EQ(heddle_dimension_rows(HEDDLE_TOKENS, 7), 7);
  EXPECT_EQ(heddle_dimension_rows(HEDDLE_SEQUENCES, 7), 1);
  const int64_t pairs = heddle::RowDimension{*heddle::RowSpace::tokens().blocks(2)}.number();
  EXPECT_EQ(heddle_dimension_rows(pairs, 7), 4);
  EXPECT_EQ(heddle_dimension_rows(HEDDLE_LONGEST, 7), 0);
  EXPECT_EQ(heddle_dimension_rows(384, 7), 0);
  EXPECT_EQ(heddle_dimension_rows(HEDDLE_TOKENS, 0), 0);
}

TEST(CInterface, Runs) {
  ModelPointer model = load();
  const SessionPointer session = start(model.get());
  // The session keeps what it needs.
  model.reset();
  const int32_t lengths[] = {2, 1};
  const int32_t ids[] = {4, 5, 6};
  float pooled[2 * width] = {};
  const heddle_input input{"input_ids", ids, 3, nullptr};
  const heddle_output output{"pooler_output", pooled, 2 * width};
  EXPECT_EQ(Answer(heddle_session_run(session.get(), "encode", lengths, 2, &input, 1, &output, 1))
                .message,
            "");
  EXPECT_NE(pooled[width], 0);
  const heddle_input bad{"input_ids", nullptr, 3, nullptr};
  EXPECT_EQ(
      Answer(heddle_session_run(session.get(), "encode", lengths, 2, &bad, 1, &output, 1)).message,
      "input \"input_ids\": values is NULL");
  const heddle_output negative{"pooler_output", pooled, -1};
  EXPECT_EQ(Answer(heddle_session_run(session.get(), "encode", lengths, 2, &input, 1, &negative, 1))
                .message,
            "output \"pooler_output\": count is -1, expected at least 0");
  const heddle_input unnamed{nullptr, ids, 3, nullptr};
  EXPECT_EQ(Answer(heddle_session_run(session.get(), "encode", lengths, 2, &unnamed, 1, &output, 1))
                .message,
            "the name of an input is NULL");
  const heddle_output unnamedOutput{nullptr, pooled, 3};
  EXPECT_EQ(
      Answer(heddle_session_run(session.get(), "encode", lengths, 2, &input, 1, &unnamedOutput, 1))
          .message,
      "the name of an output is NULL");
}

TEST(CInterface, Embeds) {
  const ModelPointer model = load();
  const SessionPointer session = start(model.get());
  int64_t embeddingWidth = 0;
  EXPECT_EQ(Answer(heddle_session_embedding_width(session.get(), &embeddingWidth)).code, 0);
  EXPECT_EQ(embeddingWidth, width);
  const char *const texts[] = {"a b", "c"};
  const size_t sizes[] = {3, 1};
  float one[2 * width];
  float two[2 * width];
  EXPECT_EQ(Answer(heddle_session_embed(session.get(), texts, nullptr, 2, one, 2 * width)).message,
            "");
  EXPECT_EQ(Answer(heddle_session_embed(session.get(), texts, sizes, 2, two, 2 * width)).message,
            "");
  EXPECT_TRUE(std::equal(one, one + 2 * width, two));
  EXPECT_EQ(Answer(heddle_session_embed(session.get(), texts, nullptr, 2, one, 40)).message,
            "room for 40 floats, expected 2 embeddings of 32");
  const char *const holes[] = {"a", nullptr};
  EXPECT_EQ(Answer(heddle_session_embed(session.get(), holes, nullptr, 2, one, 2 * width)).message,
            "text 2 is NULL");
}

TEST(CInterface, Tokenizes) {
  const ModelPointer model = load();
  EXPECT_EQ(heddle_model_has_tokenizer(model.get()), 1);
  int32_t ids[4];
  int64_t count = 0;
  EXPECT_EQ(Answer(heddle_model_tokenize(model.get(), "a b", 3, ids, 4, &count)).message, "");
  EXPECT_EQ(count, 4);
  EXPECT_EQ(ids[1], 1);
  const Answer answer(heddle_model_tokenize(model.get(), "a b c", 5, ids, 4, &count));
  EXPECT_EQ(answer.code, HEDDLE_STATUS_OutOfRange);
  EXPECT_EQ(answer.message, "room for 4 ids, the text has 5");
  EXPECT_EQ(count, 5);
}

TEST(CInterface, AnswersNull) {
  const auto expectNull = [](heddle_error *error, const char *what) {
    const Answer answer(error);
    EXPECT_EQ(answer.code, HEDDLE_STATUS_InvalidArgument);
    EXPECT_EQ(answer.message, std::string(what) + " is NULL");
  };
  heddle_model *model = nullptr;
  expectNull(heddle_model_load(nullptr, nullptr, &model), "path");
  expectNull(heddle_model_load("x", nullptr, nullptr), "model");
  heddle_session *session = nullptr;
  expectNull(heddle_session_create(nullptr, nullptr, &session), "model");
  expectNull(heddle_session_run(nullptr, "e", nullptr, 0, nullptr, 0, nullptr, 0), "session");
  expectNull(heddle_session_embed(nullptr, nullptr, nullptr, 0, nullptr, 0), "session");
  expectNull(heddle_session_embedding_width(nullptr, nullptr), "session");
  expectNull(heddle_model_port(nullptr, 0, 0, 0, nullptr), "model");
  expectNull(heddle_model_tokenize(nullptr, "", 0, nullptr, 0, nullptr), "model");
  EXPECT_EQ(heddle_model_isa(nullptr), nullptr);
  EXPECT_EQ(heddle_model_device(nullptr), nullptr);
  EXPECT_EQ(heddle_model_precision(nullptr), nullptr);
  EXPECT_EQ(heddle_model_cache_precision(nullptr), nullptr);
  EXPECT_EQ(heddle_model_kept_count(nullptr), 0);
  EXPECT_EQ(heddle_model_entry_count(nullptr), 0);
  EXPECT_EQ(heddle_model_has_tokenizer(nullptr), 0);
  heddle_model_free(nullptr);
  heddle_session_free(nullptr);
  heddle_error_free(nullptr);
  EXPECT_EQ(heddle_error_code(nullptr), HEDDLE_STATUS_Ok);
  EXPECT_STREQ(heddle_error_message(nullptr), "");
}

TEST(CInterface, AnswersAbsentFiles) {
  heddle_model *model = nullptr;
  const Answer answer(heddle_model_load("absent.so", nullptr, &model));
  EXPECT_EQ(answer.code, HEDDLE_STATUS_NotFound);
  EXPECT_EQ(model, nullptr);
}
