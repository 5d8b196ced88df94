// SPDX-License-Identifier: Apache-2.0
///
/// Entries that take rows of floats: the same bits as the same model that looks these rows up in a
/// table, through every interface, and the messages about rows that do not fit.
#include "compiler/Compile.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "frontend/Builder/ModelBuilder.h"
#include "heddle/heddle.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace heddle {
namespace {

constexpr int64_t vocabulary = 20, width = 11, inner = 16;

/// Writes rows, and a row for each sequence, of attention over `x`.
void writeLayer(ModelBuilder &model, Entry &entry, const Tensor &x) {
  const Segments rows = entry.segments();
  const Scope layer = model.scope("layer");
  const Tensor query = layer.linear("query", x, inner).splitHeads(2);
  const Tensor key = layer.linear("key", x, inner).splitHeads(2);
  const Tensor value = layer.linear("value", x, inner).splitHeads(2);
  const Tensor scores = layer.contract("thd,khd->thk", query, key, rows) * 0.35;
  const Tensor mixed = layer.contract("thk,khd->thd", scores.softmax(rows), value, rows);
  const Tensor y = layer.linear("out", mixed.mergeHeads(), width) + x;
  entry.output("rows", y);
  entry.output("pooled", y.pool(transformer::Pooling::Mean, rows));
}

/// Returns multiples of 1/32 below 2, which f16 represents exactly.
std::vector<float> randomValues(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(),
                [&] { return static_cast<float>(static_cast<int>(random() % 127) - 63) / 32; });
  return values;
}

/// Compiles a model with random values for its parameters, which depend only on their names.
std::string compileBuilt(ModelBuilder &model, const std::string &path) {
  std::vector<TensorValues> tensors;
  std::vector<std::vector<float>> values;
  for (const Parameter &parameter : model.parameters()) {
    size_t count = 1;
    for (const int64_t size : parameter.shape()) {
      count *= static_cast<size_t>(size);
    }
    uint32_t seed = 0;
    for (const char c : parameter.symbol()) {
      seed = seed * 31 + static_cast<uint32_t>(c);
    }
    values.push_back(randomValues(count, seed));
    tensors.emplace_back(parameter.symbol(), parameter.shape(), values.back());
  }
  return compileText(path, model.text(), std::move(tensors));
}

class FloatInputsTest : public testing::Test {
protected:
  void SetUp() override {
    ModelBuilder looking("test");
    Entry byIds = looking.entry("encode");
    writeLayer(looking, byIds,
               looking.scope().gather("table", byIds.input("input_ids"), vocabulary, width));
    lookedUp = compileBuilt(looking, folder / "ids.so");
    ModelBuilder taking("test");
    Entry byRows = taking.entry("encode");
    writeLayer(taking, byRows, byRows.input("features", width));
    given = compileBuilt(taking, folder / "rows.so");
    batch = randomSentences(9, 40, vocabulary, 7);
    uint32_t seed = 0;
    for (const char c : std::string("table.weight")) {
      seed = seed * 31 + static_cast<uint32_t>(c);
    }
    const std::vector<float> table = randomValues(vocabulary * width, seed);
    for (const int32_t id : batch.ids) {
      features.insert(features.end(), table.begin() + id * width, table.begin() + (id + 1) * width);
    }
  }

  std::map<std::string, std::vector<float>> expected(const std::string &isa = "") {
    return runBinary(lookedUp, batch, isa);
  }

  /// Returns the results of `heddle run` for tensors; its messages are in `outcome`.
  std::map<std::string, std::vector<float>> runTool(std::vector<SafetensorsTensor> tensors) {
    EXPECT_TRUE(writeSafetensors(folder / "in.safetensors", tensors).ok());
    outcome = tools::runHeddle({"run", given, "--inputs", folder / "in.safetensors", "--outputs",
                                folder / "out.safetensors"});
    std::map<std::string, std::vector<float>> found;
    if (outcome.code != 0) {
      return found;
    }
    auto file = Checkpoint::open(folder / "out.safetensors");
    EXPECT_TRUE(file.ok());
    for (const std::string &name : file->names()) {
      std::vector<float> &values = found[name];
      values.resize(file->find(name)->bytes.size() / sizeof(float));
      EXPECT_TRUE(file->readF32(name, values).ok());
    }
    return found;
  }
  SafetensorsTensor lengths() const {
    return {"lengths",
            ElementType::I32,
            {static_cast<int64_t>(batch.lengths.size())},
            std::as_bytes(std::span(batch.lengths))};
  }
  SafetensorsTensor rowsOf(std::span<const float> values) const {
    return {"features", ElementType::F32, {tokens(), width}, std::as_bytes(values)};
  }
  int64_t tokens() const { return static_cast<int64_t>(batch.ids.size()); }

  const TemporaryFolder folder;
  std::string lookedUp;
  std::string given;
  Ragged batch;
  /// The rows of the batch's ids.
  std::vector<float> features;
  tools::Outcome outcome;
};

TEST_F(FloatInputsTest, GiveTheBitsOfTheSameRowsLookedUp) {
  for (const std::string &isa : runnableTargets(given)) {
    for (const int threads : {1, 2}) {
      auto model = Model::load(given, {.isa = isa});
      ASSERT_TRUE(model.ok()) << model.status().message();
      // Small chunks, so that their rows begin anywhere in the caller's memory.
      for (const int64_t chunk : {0, 5}) {
        auto session = Session::create(*model, {.threads = threads, .chunkTokens = chunk});
        ASSERT_TRUE(session.ok());
        std::vector<float> rows(features.size()), pooled(batch.lengths.size() * width);
        const Input input("features", features);
        const Output outputs[] = {{"rows", rows}, {"pooled", pooled}};
        const Status status = session->run("encode", batch.lengths, {&input, 1}, outputs);
        ASSERT_TRUE(status.ok()) << status.message();
        auto looked = expected(isa);
        EXPECT_EQ(rows, looked["rows"]) << isa << ", " << threads;
        EXPECT_EQ(pooled, looked["pooled"]) << isa << ", " << threads;
      }
    }
  }
}

TEST_F(FloatInputsTest, AreDescribed) {
  auto model = Model::load(given, {.describeOnly = true});
  ASSERT_TRUE(model.ok());
  const PortInfo &port = model->findEntry("encode")->inputs[0];
  EXPECT_EQ(port.element, ElementType::F32);
  EXPECT_EQ(port.shape, (std::vector<int64_t>{tokensDimension, width}));
  EXPECT_EQ(port.limit, 0);
  const tools::Outcome info = tools::runHeddle({"info", given});
  EXPECT_NE(info.output.find("\n  input   features: f32 [tokens, 11]\n"), std::string::npos)
      << info.output;
  folder.write("ids.txt", "1 2 3\n");
  const tools::Outcome lines =
      tools::runHeddle({"profile", given, "--tokens", "--input", folder / "ids.txt"});
  EXPECT_EQ(lines.code, 1);
  EXPECT_EQ(lines.error,
            "heddle: " + given +
                ": entry \"encode\" reads rows of f32, the input \"features\", "
                "expected ids: heddle run and heddle generate --inputs take such rows\n");
}

TEST_F(FloatInputsTest, AreMeasuredWithRandomRows) {
  const tools::Outcome bench =
      tools::runHeddle({"bench", given, "--shapes", "1x4,2x3", "--runs", "1"});
  EXPECT_EQ(bench.code, 0) << bench.error;
  EXPECT_NE(bench.output.find("\"shape\":\"2x3\""), std::string::npos) << bench.output;
  const tools::Outcome profile =
      tools::runHeddle({"profile", given, "--shapes", "2x3", "--runs", "1"});
  EXPECT_EQ(profile.code, 0) << profile.error;
  EXPECT_NE(profile.output.find("2x3"), std::string::npos) << profile.output;
}

TEST_F(FloatInputsTest, AreTakenByTheInterfaceInC) {
  heddle_model *model = nullptr;
  heddle_session *session = nullptr;
  ASSERT_EQ(heddle_model_load(given.c_str(), nullptr, &model), nullptr);
  heddle_port port;
  ASSERT_EQ(heddle_model_port(model, 0, HEDDLE_INPUT, 0, &port), nullptr);
  EXPECT_EQ(port.element, HEDDLE_F32);
  EXPECT_EQ(port.rank, 2);
  ASSERT_EQ(heddle_session_create(model, nullptr, &session), nullptr);
  std::vector<float> pooled(batch.lengths.size() * width);
  const heddle_input input{"features", nullptr, static_cast<int64_t>(features.size()),
                           features.data()};
  const heddle_output output{"pooled", pooled.data(), static_cast<int64_t>(pooled.size())};
  const auto run = [&](const heddle_input &each) {
    heddle_error *const error =
        heddle_session_run(session, "encode", batch.lengths.data(),
                           static_cast<int64_t>(batch.lengths.size()), &each, 1, &output, 1);
    const std::string message = heddle_error_message(error);
    heddle_error_free(error);
    return message;
  };
  EXPECT_EQ(run(input), "");
  EXPECT_EQ(pooled, expected()["pooled"]);
  EXPECT_EQ(run({"features", batch.ids.data(), tokens(), nullptr}),
            "entry \"encode\": input \"features\" is given as i32, expected f32");
  EXPECT_EQ(run({"features", batch.ids.data(), tokens(), features.data()}),
            "input \"features\": values and floats are given, expected one of them");
  EXPECT_EQ(run({"features", nullptr, 5, nullptr}), "input \"features\": values is NULL");
  heddle_session_free(session);
  heddle_model_free(model);
}

TEST_F(FloatInputsTest, AreCheckedAndMayBeAnyNumber) {
  auto model = Model::load(given);
  ASSERT_TRUE(model.ok());
  auto session = Session::create(*model);
  ASSERT_TRUE(session.ok());
  const std::vector<int32_t> two = {1, 2};
  std::vector<float> rows(3 * width, 1.0f), pooled(2 * width);
  const auto run = [&](const Input &input) {
    const Output output{"pooled", pooled};
    return std::string(session->run("encode", two, {&input, 1}, {&output, 1}).message());
  };
  EXPECT_EQ(run(Input("features", std::span(rows).first(2 * width))),
            "entry \"encode\": input \"features\" has 22 floats, expected 3 rows of 11, as the "
            "lengths add up");
  EXPECT_EQ(run(Input("features", two)),
            "entry \"encode\": input \"features\" is given as i32, expected f32");
  EXPECT_EQ(session->run("encode", two, {}, {}).message(),
            "entry \"encode\": input \"features\" is missing");
  EXPECT_EQ(run(Input("features", rows)), "");
  const std::vector<float> second(pooled.begin() + width, pooled.end());
  // NaN only affects its sequence.
  rows[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(run(Input("features", rows)), "");
  EXPECT_TRUE(std::isnan(pooled[0]));
  EXPECT_EQ(std::vector<float>(pooled.begin() + width, pooled.end()), second);
  // An empty batch: the type of its rows does not matter.
  const Input none("features", std::span<const int32_t>());
  EXPECT_EQ(session->run("encode", {}, {&none, 1}, {}).message(), "");
}

TEST_F(FloatInputsTest, OfImagesAreWholeRowsOfPixels) {
  ModelBuilder builder("test");
  Entry entry = builder.entry("encode");
  const Tensor pixels = entry.input("pixels", width);
  const Segments rows = entry.segments();
  entry.output("windows",
               pixels.largest({.height = 3, .width = 3, .across = 7}, rows, rows.strided(1, 1, 7)));
  const std::string path = compileBuilt(builder, folder / "image.so");
  heddle_model *model = nullptr;
  heddle_error *error = heddle_model_load(path.c_str(), nullptr, &model);
  ASSERT_EQ(error, nullptr);
  EXPECT_EQ(heddle_model_entry_image_width(model, 0), 7);
  heddle_model_free(model);
}

/// At any position among the rows, in the vectors of a row and in the rest.
TEST_F(FloatInputsTest, WhatIsNoNumberIsTheLargest) {
  ModelBuilder builder("test");
  Entry entry = builder.entry("encode");
  const Tensor x = entry.input("features", width);
  const Segments rows = entry.segments();
  entry.output("pooled", x.pool(transformer::Pooling::Max, rows));
  entry.output("windows", x.largest({.height = 3}, rows));
  const std::string path = compileBuilt(builder, folder / "largest.so");
  const std::vector<int32_t> lengths = {2, 4};
  for (const std::string &isa : runnableTargets(path)) {
    auto session = Session::create(*Model::load(path, {.isa = isa}));
    ASSERT_TRUE(session.ok());
    const auto run = [&](const std::vector<float> &features) {
      std::vector<float> pooled(2 * width), windows(6 * width);
      const Input input("features", features);
      const Output outputs[] = {{"pooled", pooled}, {"windows", windows}};
      EXPECT_TRUE(session->run("encode", lengths, {&input, 1}, outputs).ok());
      pooled.insert(pooled.end(), windows.begin(), windows.end());
      return pooled;
    };
    const std::vector<float> features = randomValues(6 * width, 3);
    const std::vector<float> before = run(features);
    for (const int64_t column : {int64_t(2), width - 1}) {
      for (int64_t row = 2; row < 6; ++row) {
        std::vector<float> changed = features;
        changed[static_cast<size_t>(row * width + column)] =
            std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> after = run(changed);
        for (size_t i = 0; i < after.size(); ++i) {
          const auto of = static_cast<int64_t>(i) / width, place = static_cast<int64_t>(i) % width;
          // Two pooled rows, then a window around each row.
          const bool sees = of < 2 ? of == 1 : of - 2 >= 2 && std::abs(of - 2 - row) <= 1;
          if (sees && place == column) {
            EXPECT_TRUE(std::isnan(after[i])) << isa << ", row " << row << ", value " << i;
          } else {
            EXPECT_EQ(after[i], before[i]) << isa << ", row " << row << ", value " << i;
          }
        }
      }
    }
  }
}

TEST_F(FloatInputsTest, AreReadFromFilesOfEveryFloatingPointType) {
  auto found = runTool({rowsOf(features), lengths()});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(found, expected());
  std::vector<uint16_t> upper, halves;
  for (const float value : features) {
    upper.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
    halves.push_back(std::bit_cast<uint16_t>(static_cast<_Float16>(value)));
  }
  const std::pair<ElementType, const std::vector<uint16_t> &> stored[] = {
      {ElementType::F16, halves}, {ElementType::BF16, upper}};
  for (const auto &[type, bits] : stored) {
    EXPECT_EQ(
        runTool({{"features", type, {tokens(), width}, std::as_bytes(std::span(bits))}, lengths()}),
        expected());
    EXPECT_EQ(outcome.error, "heddle: note: tensor \"features\" is converted from " +
                                 std::string(infoOf(type).name) + " to f32\n");
  }
}

TEST_F(FloatInputsTest, AreReadFromRectanglesWithPadding) {
  // Two sequences of three rows; the second one has one row of padding, which is NaN.
  const std::vector<int32_t> mask = {1, 1, 1, 1, 1, 0};
  std::vector<float> padded(features.begin(), features.begin() + 6 * width);
  std::fill(padded.end() - width, padded.end(), std::numeric_limits<float>::quiet_NaN());
  const auto found =
      runTool({{"features", ElementType::F32, {2, 3, width}, std::as_bytes(std::span(padded))},
               {"attention_mask", ElementType::I32, {2, 3}, std::as_bytes(std::span(mask))}});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  Ragged two;
  two.append(std::span(batch.ids).first(3));
  two.append(std::span(batch.ids).subspan(3, 2));
  auto looked = runBinary(lookedUp, two);
  EXPECT_EQ(found.at("pooled"), looked["pooled"]);
  looked["rows"].resize(6 * width, 0.0f);
  EXPECT_EQ(found.at("rows"), looked["rows"]);
}

TEST_F(FloatInputsTest, ThatDoNotFitAreRefused) {
  const std::string where = "heddle: " + (folder / "in.safetensors") + ": ";
  const std::vector<int64_t> wide(features.size(), 1);
  runTool({{"features", ElementType::I64, {tokens(), width}, std::as_bytes(std::span(wide))},
           lengths()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.error,
            where + "tensor \"features\": has type I64, expected F32, F16 or BF16\n");
  runTool({{"features", ElementType::F32, {width, tokens()}, std::as_bytes(std::span(features))}});
  EXPECT_EQ(outcome.error, where + "tensor \"features\" has shape [11, " +
                               std::to_string(tokens()) +
                               "], expected [sequences, length, 11] or [tokens, 11]\n");
  runTool({lengths()});
  EXPECT_EQ(outcome.error, where + "no tensor \"features\", which entry \"encode\" needs\n");
}

// Rows that pass through unchanged, and rows that a caller may omit.
TEST_F(FloatInputsTest, MayBeOutputsAndOptional) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Tensor x = entry.input("x", 3);
  const Tensor spare = entry.optionalInput("spare", 3);
  (void)entry.segments();
  entry.output("same", x);
  entry.output("sum", x + spare);
  const std::string path = compileBuilt(model, folder / "sum.so");
  auto loaded = Model::load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  auto session = Session::create(*loaded);
  ASSERT_TRUE(session.ok());
  const std::vector<int32_t> lengths = {2, 1};
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<float> same(9), sum(9);
  const Output outputs[] = {{"same", same}, {"sum", sum}};
  const Input alone("x", rows);
  EXPECT_EQ(session->run("encode", lengths, {&alone, 1}, outputs).message(), "");
  EXPECT_EQ(same, rows);
  EXPECT_EQ(sum, rows);
  const std::vector<float> more(9, 0.5f);
  const Input both[] = {{"x", rows}, {"spare", more}};
  EXPECT_EQ(session->run("encode", lengths, both, outputs).message(), "");
  EXPECT_EQ(sum[8], 9.5f);
}

} // namespace
} // namespace heddle
