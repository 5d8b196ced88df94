// SPDX-License-Identifier: Apache-2.0
///
/// Quantised files, compiled as they specify: those with only weights in codes give the bits of f32
/// arithmetic on the values of their codes, and those that quantise rows give the bits of products
/// of the same integers. The binary has the integers of the file.
#include "formats/Quantized/OpenQuantized.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"
#include "tests/formats/Gguf/SmallBert.h"
#include "tests/formats/Quantized/QuantizedFolder.h"

#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <ostream>

namespace heddle {
namespace {

constexpr int vocabulary = 60;

/// A BERT of two layers whose linear maps are codes, and the same with their values.
struct TwoBerts {
  QuantizedFolder coded, plain;

  using AddLayer =
      std::function<void(QuantizedFolder &, const std::string &layer, const CodedMatrix &)>;

  TwoBerts(const std::function<CodedMatrix(int64_t n, int64_t k)> &make, const AddLayer &add,
           const std::function<float()> &number) {
    const std::string config =
        R"("model_type": "bert", "hidden_size": 64, "intermediate_size": 96,
           "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 60,
           "max_position_embeddings": 40, "type_vocab_size": 2, "hidden_act": "gelu",
           "layer_norm_eps": 1e-12, "pad_token_id": 0)";
    coded.config = plain.config = config;
    addTable("embeddings.word_embeddings.weight", {vocabulary, 64}, number);
    addTable("embeddings.position_embeddings.weight", {40, 64}, number);
    addTable("embeddings.token_type_embeddings.weight", {2, 64}, number);
    addNorm("embeddings.LayerNorm");
    for (int layer = 0; layer < 2; ++layer) {
      const std::string prefix = "encoder.layer." + std::to_string(layer) + ".";
      for (const auto &[name, n, k] : {std::tuple{"attention.self.query", 64, 64},
                                       {"attention.self.key", 64, 64},
                                       {"attention.self.value", 64, 64},
                                       {"attention.output.dense", 64, 64},
                                       {"intermediate.dense", 96, 64},
                                       {"output.dense", 64, 96}}) {
        const CodedMatrix matrix = make(n, k);
        add(coded, prefix + name, matrix);
        plain.addPlain(prefix + name + ".weight", {n, k}, matrix.values());
        addTable(prefix + name + ".bias", {n}, number);
      }
      addNorm(prefix + "attention.output.LayerNorm");
      addNorm(prefix + "output.LayerNorm");
    }
  }

private:
  void addTable(const std::string &name, std::vector<int64_t> shape,
                const std::function<float()> &number) {
    int64_t count = 1;
    for (const int64_t size : shape) {
      count *= size;
    }
    std::vector<float> values(static_cast<size_t>(count));
    std::generate(values.begin(), values.end(), number);
    coded.addPlain(name, shape, values);
    plain.addPlain(name, shape, values);
  }
  void addNorm(const std::string &name) {
    for (QuantizedFolder *folder : {&coded, &plain}) {
      folder->addPlain(name + ".weight", {64}, std::vector<float>(64, 1.0F));
      folder->addPlain(name + ".bias", {64}, std::vector<float>(64, 0.0F));
    }
  }
};

std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(),
                 [](float value) { return std::bit_cast<uint32_t>(value); });
  return bits;
}

void expectSameBits(const std::string &found, const std::string &expected) {
  ASSERT_FALSE(found.empty() || expected.empty());
  const Ragged batch = randomSentences(7, 19, vocabulary, 5);
  for (const std::string &isa : runnableTargets(found)) {
    const std::vector<float> bits = runBinary(found, batch, isa)["last_hidden_state"];
    ASSERT_FALSE(bits.empty());
    EXPECT_EQ(bitsOf(bits), bitsOf(runBinary(expected, batch, isa)["last_hidden_state"])) << isa;
  }
}

std::string precisionOf(const std::string &binary) {
  const Result<Model> model = Model::load(binary);
  EXPECT_TRUE(model.ok());
  return model.ok() ? std::string(model->precision()) : "";
}

// --- weights alone ---------------------------------------------------------------------------

struct FileCase {
  const char *name;
  int bits;
  int64_t group;
  const char *precision;
};

void PrintTo(const FileCase &each, std::ostream *stream) { *stream << each.name; }

TwoBerts bertsOf(const FileCase &each) {
  const std::string_view name = each.name;
  std::mt19937 random(static_cast<unsigned>(name.size() * 7));
  std::normal_distribution<float> normal(0, 0.3F);
  const bool isSymmetric = name.ends_with("Symmetric");
  const TwoBerts::AddLayer add = [&](QuantizedFolder &folder, const std::string &layer,
                                     const CodedMatrix &matrix) {
    if (name.starts_with("Gptq")) {
      addGptq(folder, layer, matrix);
    } else if (name.starts_with("Awq")) {
      addAwq(folder, layer, matrix);
    } else {
      addPacked(folder, layer, matrix, each.bits == 4 && !isSymmetric);
    }
  };
  TwoBerts berts(
      [&](int64_t n, int64_t k) {
        return randomCodes(each.bits, n, k, each.group, random, isSymmetric ? 8 : -1);
      },
      add, [&] { return normal(random); });
  berts.coded.quantization =
      name.starts_with("Gptq") ? gptqConfig(each.bits, each.group)
      : name.starts_with("Awq")
          ? awqConfig(each.group)
          : compressedConfig(each.bits, each.group == 0 ? "channel" : "group", each.group,
                             isSymmetric || each.bits == 8, false, "pack-quantized");
  return berts;
}

/// Returns whether a file contains some bytes.
bool hasBytes(const std::string &file, const std::string &bytes) {
  return readBytes(file).find(bytes) != std::string::npos;
}

/// Returns the beginning of a panel of `columns` columns of a matrix: scales in f16, zero points,
/// codes of the first elements of all columns.
std::string panelOf(const CodedMatrix &matrix, int64_t columns) {
  std::vector<float> scales;
  std::vector<uint8_t> zeros((columns + 1) / 2), codes;
  for (int64_t column = 0; column < columns; ++column) {
    const bool isThere = column < matrix.n;
    scales.push_back(isThere ? matrix.scales[column * matrix.groups()] : 0);
    const int zero = isThere && matrix.bits == 4 ? matrix.zeros[column * matrix.groups()] : 0;
    zeros[column / 2] |= static_cast<uint8_t>(zero << (column % 2 * 4));
    const auto code = [&](int64_t i) { return isThere ? matrix.codes[column * matrix.k + i] : 0; };
    codes.push_back(static_cast<uint8_t>(matrix.bits == 4 ? code(0) | code(1) << 4 : code(0)));
  }
  const std::vector<uint16_t> halves = halvesOf(scales);
  std::string bytes = rawBytes(halves);
  if (matrix.bits == 4) {
    bytes += rawBytes(zeros);
    bytes.resize((bytes.size() + 15) / 16 * 16);
  }
  return bytes + rawBytes(codes);
}

class QuantizedFileTest : public testing::TestWithParam<FileCase> {};

TEST_P(QuantizedFileTest, BitsAreThoseOfTheNumbersInF32) {
  const TwoBerts berts = bertsOf(GetParam());
  const TemporaryFolder coded, plain;
  const std::string binary = compileModel(berts.coded.write(coded));
  const std::string wide = compileModel(berts.plain.write(plain));
  expectSameBits(binary, wide);
  EXPECT_EQ(precisionOf(binary), GetParam().precision);
  EXPECT_EQ(precisionOf(wide), "f32");
  // Values in f32 on request, with the same results.
  const std::string widened = compileModel(coded.path(), {"--precision=f32"});
  expectSameBits(widened, wide);
  EXPECT_EQ(precisionOf(widened), "f32");
}

TEST_P(QuantizedFileTest, TheBinaryHasTheIntegersOfTheFile) {
  const FileCase &each = GetParam();
  const TwoBerts berts = bertsOf(each);
  const TemporaryFolder coded;
  const std::string binary = compileModel(berts.coded.write(coded), {"--target=x86-64-v3"});
  const Result<Checkpoint> file = openFolderWeights(coded.path());
  ASSERT_TRUE(file.ok());
  for (const char *name : {"encoder.layer.0.attention.output.dense", "encoder.layer.1.output.dense",
                           "encoder.layer.1.intermediate.dense"}) {
    const StoredTensor &tensor = *file->find(name + std::string(".weight"));
    const CodeRows rows = tensor.codes->read(0, tensor.shape[0]);
    CodedMatrix matrix{each.bits,
                       tensor.shape[0],
                       tensor.shape[1],
                       each.group == 0 ? tensor.shape[1] : each.group,
                       {},
                       rows.scales,
                       {}};
    matrix.codes.assign(rows.codes.begin(), rows.codes.end());
    matrix.zeros.assign(rows.zeros.begin(), rows.zeros.end());
    const bool isFound =
        hasBytes(binary, panelOf(matrix, 8)) || hasBytes(binary, panelOf(matrix, 16)) ||
        hasBytes(binary, panelOf(matrix, 24)) || hasBytes(binary, panelOf(matrix, 48));
    EXPECT_TRUE(isFound) << name;
    matrix.codes[3 * matrix.k] ^= 1;
    EXPECT_FALSE(hasBytes(binary, panelOf(matrix, 8)) || hasBytes(binary, panelOf(matrix, 16)) ||
                 hasBytes(binary, panelOf(matrix, 24)) || hasBytes(binary, panelOf(matrix, 48)))
        << name;
  }
}

// A program in text uses the codes of the folder, after every phase whose text can be parsed.
TEST_P(QuantizedFileTest, ProgramsInTextKeepCodes) {
  const TwoBerts berts = bertsOf(GetParam());
  const TemporaryFolder coded, texts;
  const std::string direct = compileModel(berts.coded.write(coded));
  for (const char *phase : {"model", "fused", "dataflow"}) {
    const std::string text = texts / (phase + std::string(".mlir"));
    ASSERT_EQ(tools::runProgram("heddlec", {coded.path(), "--stop-after", phase, "-o", text}).code,
              0);
    EXPECT_NE(readBytes(text).find("!transformer.quantized<i" + std::to_string(GetParam().bits)),
              std::string::npos);
    const std::string again = compileModel(text, {"--weights", coded.path()});
    expectSameBits(again, direct);
    EXPECT_EQ(precisionOf(again), GetParam().precision);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantizedFileTest,
    testing::Values(FileCase{"PackedSymmetric", 4, 32, "compressed-tensors, W4A16 groups of 32"},
                    FileCase{"PackedZeros", 4, 16, "compressed-tensors, W4A16 groups of 16"},
                    FileCase{"PackedRow", 4, 0, "compressed-tensors, W4A16"},
                    FileCase{"Packed8", 8, 0, "compressed-tensors, W8A16"},
                    FileCase{"Packed8Groups", 8, 32, "compressed-tensors, W8A16 groups of 32"},
                    FileCase{"Gptq", 4, 32, "gptq, int4 groups of 32"},
                    FileCase{"GptqEight", 8, 16, "gptq, int8 groups of 16"},
                    FileCase{"Awq", 4, 32, "awq, int4 groups of 32"}),
    [](const auto &info) { return std::string(info.param.name); });

// --- quantised rows ----------------------------------------------------------------------------

// Tables and weights are multiples of a power of two with a maximum of 127 times it, so that
// --precision int8 converts the values to the codes of the file.
TEST(QuantizedRowsTest, BitsAreThoseOfInt8) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> code(-127, 127);
  const auto withLargest = [&](int64_t n, int64_t k) {
    CodedMatrix matrix = randomCodes(8, n, k, 0, random, -1, /*isExact=*/true);
    for (int64_t row = 0; row < n; ++row) {
      matrix.codes[row * k + row % k] = row % 2 == 0 ? 127 : -127;
    }
    return matrix;
  };
  int64_t number = 0;
  TwoBerts berts(withLargest, addBytes, [&] {
    // The first element of every row of a table is the largest.
    return static_cast<float>(number++ % 64 == 0 ? 127 : code(random)) / 256;
  });
  berts.coded.quantization = compressedConfig(8, "channel", 0, true, true, "int-quantized");
  const TemporaryFolder coded, plain;
  const std::string binary = compileModel(berts.coded.write(coded));
  expectSameBits(binary, compileModel(berts.plain.write(plain), {"--precision=int8"}));
  EXPECT_EQ(precisionOf(binary), "compressed-tensors, W8A8");
  EXPECT_EQ(runnableTargets(binary).back().find("x86-64-v"), 0U);
}

// Warnings about the file's quantisation of rows only appear if rows are quantised as it specifies.
TEST(QuantizedRowsTest, WarnsWhereRowsAreAsTheFileSays) {
  std::mt19937 random(12);
  std::normal_distribution<float> normal(0, 0.3F);
  TwoBerts berts([&](int64_t n, int64_t k) { return randomCodes(8, n, k, 0, random); }, addBytes,
                 [&] { return normal(random); });
  std::string config = compressedConfig(8, "channel", 0, true, true, "int-quantized");
  const std::string dynamic = "\"dynamic\": true";
  berts.coded.quantization =
      config.replace(config.find(dynamic), dynamic.size(), "\"dynamic\": false");
  const TemporaryFolder folder;
  const std::string model = berts.coded.write(folder);
  const std::string warning =
      "heddlec: warning: " + folder / "config.json" +
      ": \"quantization_config\": \"config_groups\": \"group_0\": \"input_activations\": asks for "
      "fixed scales by token: activations are quantised row by row as they come instead\n";
  for (const auto &[option, warns] :
       {std::pair("--target=x86-64-v3", true), {"--precision=f32", false}}) {
    const tools::Outcome outcome =
        tools::runProgram("heddlec", {model, option, "--report=/dev/null"});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    EXPECT_EQ(outcome.error.find(warning) != std::string::npos, warns) << outcome.error;
  }
}

/// A program that multiplies rows of a table by codes, and its folder.
struct CodedProgram {
  static constexpr int64_t n = 37, k = 50;
  QuantizedFolder folder;
  std::vector<float> table;
  CodedMatrix weights;

  explicit CodedProgram(bool hasLeastCode) {
    std::mt19937 random(13);
    std::uniform_int_distribution<int> code(-127, 127);
    table.resize(static_cast<size_t>(vocabulary * k));
    std::generate(table.begin(), table.end(),
                  [&] { return static_cast<float>(code(random)) / 64; });
    weights = randomCodes(8, n, k, 0, random, -1, /*isExact=*/true);
    for (int64_t i = 0; hasLeastCode && i < n * k; i += 3) {
      weights.codes[i] = -128;
    }
    folder.quantization = compressedConfig(8, "channel", 0, true, true, "int-quantized");
    folder.addPlain("x", {vocabulary, k}, table);
    folder.addPlain("b", {n}, std::vector<float>(n, 0.0F));
    addBytes(folder, "w", weights);
  }

  static std::string text(const std::string &element) {
    const std::string rows = "tensor<?x" + std::to_string(k) + "xf32>";
    const std::string result = "tensor<?x" + std::to_string(n) + "xf32>";
    const std::string shape = std::to_string(n) + "x" + std::to_string(k) + "x";
    return "transformer.parameter @x : tensor<" + std::to_string(vocabulary) + "x" +
           std::to_string(k) + "xf32> from \"x\"\n" + "transformer.parameter @b : tensor<" +
           std::to_string(n) + "xf32> from \"b\"\n" + "transformer.parameter @codes : tensor<" +
           shape + element + "> from \"w.weight\"\n" + "transformer.parameter @w : tensor<" +
           shape + "f32> = convert(@codes)\n" +
           "func.func @encode(%ids: tensor<?xi32> {transformer.name = \"input_ids\"}, %rows: "
           "!transformer.segments) -> (" +
           result + " {transformer.name = \"out\"}) {\n" +
           "  %x = transformer.gather @x[%ids] : " + rows +
           "\n  %out = transformer.linear %x, @w, @b : " + rows + " -> " + result +
           "\n  return %out : " + result + "\n}\n";
  }

  /// Returns an element of the product as the description of #dataflow.contract defines it.
  float elementOf(int32_t id, int64_t column) const {
    const float *row = table.data() + id * k;
    const float least = std::min(0.0F, *std::min_element(row, row + k));
    const float most = std::max(0.0F, *std::max_element(row, row + k));
    const float scale = most / 255 - least / 255, inverse = 1 / scale;
    const auto zero = static_cast<int64_t>(std::nearbyint(-least * inverse));
    int64_t sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      const auto code = static_cast<int64_t>(std::nearbyint(row[i] * inverse)) + zero;
      sum += (std::clamp<int64_t>(code, 0, 255) - zero) * weights.codes[column * k + i];
    }
    return static_cast<float>(sum) * (scale * weights.scales[column]);
  }
};

class LeastCodeTest : public testing::TestWithParam<bool> {};

// Targets without integer dot products multiply -128 correctly too.
TEST_P(LeastCodeTest, ProductsAreExactOnEveryTarget) {
  const CodedProgram program(GetParam());
  const TemporaryFolder folder, place;
  const std::string element =
      GetParam() ? "!transformer.quantized<i8, row, full>" : "!transformer.quantized<i8, row>";
  const std::string text = place.write("program.mlir", CodedProgram::text(element));
  const std::string binary =
      compileModel(text, {"--weights", program.folder.write(folder), presentTargets()});
  ASSERT_FALSE(binary.empty());
  for (const int rows : {1, 2, 7, 9, 60}) {
    Ragged batch;
    std::vector<int32_t> ids(static_cast<size_t>(rows));
    for (int i = 0; i < rows; ++i) {
      ids[i] = (i * 7 + 3) % vocabulary;
    }
    batch.append(ids);
    for (const std::string &isa : runnableTargets(binary)) {
      const std::vector<float> out = runBinary(binary, batch, isa)["out"];
      ASSERT_EQ(out.size(), size_t(rows * CodedProgram::n));
      for (int64_t i = 0; i < rows * CodedProgram::n; ++i) {
        ASSERT_EQ(out[i], program.elementOf(ids[i / CodedProgram::n], i % CodedProgram::n))
            << isa << " row " << i / CodedProgram::n << " of " << rows << " column "
            << i % CodedProgram::n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, LeastCodeTest, testing::Bool(), [](const auto &info) {
  return info.param ? std::string("WithMinus128") : std::string("Without");
});

class QuantizedProgramTest : public HeddlecTest {};

// A program's statements about codes are verified.
TEST_F(QuantizedProgramTest, WhatTheTextSaysMustBeSo) {
  const TemporaryFolder folder;
  const std::string weights = CodedProgram(/*hasLeastCode=*/true).folder.write(folder);
  const std::string where = folder / "model.safetensors";
  const std::string found = "!transformer.quantized<i8, row, full>";
  for (const std::string element :
       {"!transformer.quantized<i8, row>", "!transformer.quantized<i8, 10, full>",
        "!transformer.quantized<i4, row>", "!transformer.quantized<i8, row, f16, full>"}) {
    const std::string text = work.write("program.mlir", CodedProgram::text(element));
    expectError({text, "--weights", weights, "-o", work / "out.so"},
                where + ": tensor \"w.weight\" has elements of " + found + ", expected " + element);
  }
}

// --- requested precisions --------------------------------------------------------------------

/// The decisions of narrow-weights for a folder: the numbers taken and declined.
struct Decisions {
  std::map<std::string, int> taken, declined;
};

Decisions decisionsOf(const std::string &model, const std::string &place,
                      const std::vector<std::string> &arguments) {
  std::vector<std::string> all = {model, "-o", place + "/out.so", "--report=" + place + "/r.json",
                                  "--target=x86-64-v3"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const tools::Outcome outcome = tools::runProgram("heddlec", all);
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  Decisions decisions;
  for (const auto &entry : nlohmann::json::parse(readBytes(place + "/r.json"), nullptr, false)) {
    if (entry.contains("pass") && entry["pass"] == "narrow-weights") {
      ++(entry["taken"] ? decisions.taken[entry["what"]] : decisions.declined[entry["reason"]]);
    }
  }
  return decisions;
}

TEST_F(QuantizedProgramTest, ReportsSayWhatIsKept) {
  const FileCase gptq{"Gptq", 4, 32, ""};
  const TemporaryFolder folder;
  const std::string model = bertsOf(gptq).coded.write(folder);
  const std::string codes = "i4, one scale and code of zero for every 32 of a row";
  // The joined projections of a layer are one matrix, and all others are separate.
  const Decisions asItIs = decisionsOf(model, work.path(), {});
  EXPECT_EQ(asItIs.taken, (std::map<std::string, int>{{"stored as the file has it: " + codes, 8}}));
  EXPECT_TRUE(asItIs.declined.empty());
  const Decisions fitting = decisionsOf(model, work.path(), {"--precision=int4"});
  EXPECT_EQ(fitting.taken.at("stored as the file has it: " + codes), 8);
  EXPECT_TRUE(fitting.declined.empty());
  const Decisions others = decisionsOf(model, work.path(), {"--precision=int8"});
  EXPECT_EQ(others.declined, (std::map<std::string, int>{
                                 {"codes of the file are not kept: the file has " + codes, 8}}));
  EXPECT_EQ(others.taken.count("stored as the file has it: " + codes), 0U);
}

// A kept layer next to codes of the file, whichever part of a joined matrix it is.
TEST_F(QuantizedProgramTest, LayersAreKeptBesideCodes) {
  const TemporaryFolder folder;
  const std::string model = bertsOf({"PackedSymmetric", 4, 32, ""}).coded.write(folder);
  const std::string codes = "stored as the file has it: i4, one scale and code of zero for every "
                            "32 of a row";
  for (const std::string part : {"query", "key", "value"}) {
    const std::string wide = "layer.0.attention.self." + part + "=f32";
    const Decisions decisions = decisionsOf(model, work.path(), {"--keep=" + wide});
    EXPECT_EQ(decisions.taken, (std::map<std::string, int>{{codes, 7}})) << part;
    EXPECT_EQ(decisions.declined.size(), 1U) << part;
    EXPECT_EQ(decisions.declined.count("stored in f32, kept by " + wide +
                                       ", the finest precision of its parts"),
              1U)
        << part;
    // These files do not quantise rows, so codes of the same number of bits are finer.
    expectError({model, "-o", work / "x.so", "--keep=" + part + "=int4"},
                "--keep: \"" + part +
                    "=int4\" keeps nothing: \"encoder.layer.0.attention.self\" is stored as one "
                    "matrix, and the precision of other parts of it is finer: that of its files");
  }
  // With all of it in f32, the model is that of f32, except for the name.
  const std::string kept = compileModel(model, {"--keep=encoder=f32"});
  expectSameBits(kept, compileModel(model, {"--precision=f32"}));
  EXPECT_EQ(precisionOf(kept), "compressed-tensors, W4A16 groups of 32");
}

// Tables of GGUF files are looked up in their groups.
TEST_F(QuantizedProgramTest, TablesOfGgufFilesKeepCodes) {
  for (const auto &[number, expected] :
       {std::pair<uint32_t, std::string>{8, "i8, one scale for every 32 of a row"},
        {2, "i4, one scale and code of zero for every 32 of a row"},
        {6, "i8, one scale for every 32 of a row"},
        {14, "i8, one scale for every 16 of a row"},
        {3, "i4, one scale and minimum for every 32 of a row"},
        {7, "i8, one scale and minimum for every 32 of a row"},
        {12, "i4, one scale and minimum for every 32 of a row"},
        {13, "i8, one scale and minimum for every 32 of a row"}}) {
    const SmallBert small(number, findGgufType(number)->elements == 256 ? 256 : 64);
    const std::string file = work.write("m.gguf", small.bytes().file());
    const Decisions decisions = decisionsOf(file, work.path(), {});
    EXPECT_TRUE(decisions.declined.empty());
    // The table, joined projections, and three matrices.
    EXPECT_EQ(decisions.taken,
              (std::map<std::string, int>{{"stored as the file has it: " + expected, 5}}))
        << number;
    EXPECT_EQ(precisionOf(work / "out.so"), "gguf, " + std::string(findGgufType(number)->name));
  }
}

TEST_F(QuantizedProgramTest, InfoHasTheCodesOfTheFile) {
  const TemporaryFolder folder;
  const std::string model = bertsOf({"Awq", 4, 32, ""}).coded.write(folder);
  const std::string binary = compileModel(model);
  const tools::Outcome outcome = tools::runProgram("heddle", {"info", binary, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const auto info = nlohmann::json::parse(outcome.output, nullptr, false);
  EXPECT_EQ(info["precision"], "awq, int4 groups of 32");
  EXPECT_EQ(info["codes"],
            (nlohmann::json{{"format", "awq"}, {"kinds", {"int4 groups of 32"}}, {"row_bits", 0}}));
}

} // namespace
} // namespace heddle
