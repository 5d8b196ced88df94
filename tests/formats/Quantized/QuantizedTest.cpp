// SPDX-License-Identifier: Apache-2.0
///
/// The codes of every format are those that its writer was given, whatever rows are read.
#include "formats/Quantized/OpenQuantized.h"

#include "tests/formats/Quantized/QuantizedFolder.h"

#include <ostream>

namespace heddle {
namespace {

struct FormatCase {
  const char *name;
  int bits;
  int64_t n, k, group;
  const char *kind;
};

void PrintTo(const FormatCase &each, std::ostream *stream) { *stream << each.name; }

/// Returns the folder of a case with one layer, and the layer's codes.
QuantizedFolder folderOf(const FormatCase &each, CodedMatrix &matrix) {
  std::mt19937 random(static_cast<unsigned>(each.n * each.k));
  const std::string_view name = each.name;
  const bool isSymmetric = name.starts_with("Symmetric");
  matrix = randomCodes(each.bits, each.n, each.k, each.group, random, isSymmetric ? 8 : -1);
  QuantizedFolder folder;
  const std::string strategy = each.group == 0 ? "channel" : "group";
  if (name.starts_with("Gptq")) {
    const bool isSecond = name.ends_with("V2");
    folder.quantization = gptqConfig(each.bits, each.group, isSecond ? "gptq_v2" : "gptq");
    addGptq(folder, "layer", matrix, isSecond);
  } else if (name.starts_with("Awq")) {
    folder.quantization = awqConfig(each.group);
    addAwq(folder, "layer", matrix);
  } else if (name.starts_with("Bytes")) {
    folder.quantization =
        compressedConfig(each.bits, strategy, each.group, true, true, "int-quantized");
    addBytes(folder, "layer", matrix);
  } else {
    folder.quantization = compressedConfig(each.bits, strategy, each.group,
                                           isSymmetric || each.bits == 8, false, "pack-quantized");
    addPacked(folder, "layer", matrix, !isSymmetric && each.bits == 4);
  }
  folder.addPlain("layer.bias", {each.n}, std::vector<float>(each.n, 0.5F));
  return folder;
}

class QuantizedFormatTest : public testing::TestWithParam<FormatCase> {};

TEST_P(QuantizedFormatTest, HasTheCodesOfItsWriter) {
  CodedMatrix matrix;
  const TemporaryFolder place;
  const Result<Checkpoint> model = openFolderWeights(folderOf(GetParam(), matrix).write(place));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->names().size(), 2U);
  const StoredTensor *const tensor = model->find("layer.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{matrix.n, matrix.k}));
  EXPECT_TRUE(tensor->isReal());
  ASSERT_NE(tensor->codes, nullptr);
  EXPECT_EQ(tensor->codes->kind(), GetParam().kind);
  EXPECT_EQ(tensor->codes->layout().group, GetParam().group);
  for (const auto &[first, count] :
       {std::pair<int64_t, int64_t>{0, matrix.n}, {1, matrix.n - 2}, {matrix.n - 1, 1}, {3, 0}}) {
    const CodeRows rows = tensor->codes->read(first, count);
    const auto part = [&](const auto &all, int64_t ofRow) {
      return std::decay_t<decltype(all)>(all.begin() + first * ofRow,
                                         all.begin() + (first + count) * ofRow);
    };
    EXPECT_EQ(std::vector<int>(rows.codes.begin(), rows.codes.end()), part(matrix.codes, matrix.k));
    EXPECT_EQ(rows.scales, part(matrix.scales, matrix.groups()));
    EXPECT_EQ(std::vector<int>(rows.zeros.begin(), rows.zeros.end()),
              matrix.bits == 8 ? std::vector<int>() : part(matrix.zeros, matrix.groups()));
  }
  std::vector<float> values(static_cast<size_t>(matrix.n * matrix.k));
  EXPECT_TRUE(model->readF32("layer.weight", values).ok());
  EXPECT_EQ(values, matrix.values());
  model->releasePages("layer.weight");
  EXPECT_TRUE(model->readCodes("layer.weight", tensor->codes->layout(), false).ok());
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantizedFormatTest,
    testing::Values(FormatCase{"Symmetric4", 4, 24, 48, 16, "W4A16 groups of 16"},
                    FormatCase{"SymmetricOdd", 4, 7, 13, 0, "W4A16"},
                    FormatCase{"Zeros4", 4, 21, 64, 32, "W4A16 groups of 32"},
                    FormatCase{"Zeros4Row", 4, 9, 40, 0, "W4A16"},
                    FormatCase{"Packed8", 8, 11, 18, 0, "W8A16"},
                    FormatCase{"Packed8Groups", 8, 11, 36, 12, "W8A16 groups of 12"},
                    FormatCase{"Bytes8", 8, 13, 27, 0, "W8A8"},
                    FormatCase{"Gptq4", 4, 72, 64, 32, "int4 groups of 32"},
                    FormatCase{"Gptq4Row", 4, 136, 72, 0, "int4"},
                    FormatCase{"Gptq4V2", 4, 24, 64, 16, "int4 groups of 16"},
                    FormatCase{"Gptq8", 8, 68, 32, 16, "int8 groups of 16"},
                    FormatCase{"Awq", 4, 72, 160, 32, "int4 groups of 32"},
                    FormatCase{"AwqNarrow", 4, 8, 24, 8, "int4 groups of 8"}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(QuantizedTest, OneScaleForATensor) {
  std::mt19937 random(3);
  CodedMatrix matrix = randomCodes(8, 5, 12, 0, random);
  std::fill(matrix.scales.begin(), matrix.scales.end(), 0.25F);
  QuantizedFolder folder;
  folder.quantization = compressedConfig(8, "tensor", 0, true, true, "int-quantized");
  addBytes(folder, "layer", matrix);
  for (const std::vector<int64_t> &shape : {std::vector<int64_t>{}, {1}, {1, 1}}) {
    folder.tensors["layer.weight_scale"] =
        writtenTensor(ElementType::F32, shape, std::vector<float>{0.25F});
    const TemporaryFolder place;
    const Result<Checkpoint> model = openFolderWeights(folder.write(place));
    ASSERT_TRUE(model.ok()) << model.status().message();
    std::vector<float> values(60);
    EXPECT_TRUE(model->readF32("layer.weight", values).ok());
    EXPECT_EQ(values, matrix.values());
    EXPECT_EQ(model->quantization()->rowBits, 8U);
    EXPECT_EQ(model->quantization()->text(), "compressed-tensors, W8A8");
  }
}

TEST(QuantizedTest, SchemesFollowFromTensors) {
  std::mt19937 random(4);
  const CodedMatrix fine = randomCodes(4, 8, 64, 16, random, 8);
  const CodedMatrix coarse = randomCodes(8, 8, 64, 0, random);
  QuantizedFolder folder;
  std::string second = compressedConfig(8, "channel", 0, true, false, "pack-quantized");
  second = second.substr(second.find("\"group_0\"") + 9);
  std::string first = compressedConfig(4, "group", 16, true, false, "pack-quantized");
  folder.quantization = first.substr(0, first.size() - 2) + ", \"group_1\"" + second;
  addPacked(folder, "a", fine, false);
  addPacked(folder, "b", coarse, false);
  const TemporaryFolder place;
  const Result<Checkpoint> model = openFolderWeights(folder.write(place));
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::vector<float> values(8 * 64);
  EXPECT_TRUE(model->readF32("a.weight", values).ok());
  EXPECT_EQ(values, fine.values());
  EXPECT_TRUE(model->readF32("b.weight", values).ok());
  EXPECT_EQ(values, coarse.values());
  EXPECT_EQ(model->quantization()->text(), "compressed-tensors, W4A16 groups of 16 and W8A16");
}

TEST(QuantizedTest, TheLeastCodeIsFound) {
  std::mt19937 random(5);
  CodedMatrix matrix = randomCodes(8, 6, 20, 0, random);
  matrix.codes[3 * 20 + 7] = -128;
  QuantizedFolder folder;
  folder.quantization = compressedConfig(8, "channel", 0, true, true, "int-quantized");
  addBytes(folder, "layer", matrix);
  const TemporaryFolder place;
  const Result<Checkpoint> model = openFolderWeights(folder.write(place));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const QuantizedTensor &codes = *model->find("layer.weight")->codes;
  EXPECT_TRUE(codes.hasLeastCode(0, 6));
  EXPECT_TRUE(codes.hasLeastCode(3, 1));
  EXPECT_FALSE(codes.hasLeastCode(0, 3));
  EXPECT_TRUE(model->readCodes("layer.weight", codes.layout(), true).ok());
  EXPECT_EQ(model->readCodes("layer.weight", codes.layout(), false).status().message(),
            place / "model.safetensors" + ": tensor \"layer.weight\": has the code -128, expected "
                                          "codes from -127 to 127");
  CodeLayout other = codes.layout();
  other.group = 4;
  EXPECT_EQ(model->readCodes("layer.weight", other, true).status().message(),
            place / "model.safetensors" + ": tensor \"layer.weight\": has W8A8, expected codes of "
                                          "8 bits in groups of 4");
}

// Requests of a file that are not supported give a warning; those without effect do not.
TEST(QuantizedTest, WarnsOfWhatIsNotDone) {
  std::mt19937 random(6);
  const CodedMatrix matrix = randomCodes(8, 6, 20, 0, random);
  QuantizedFolder folder;
  addBytes(folder, "layer", matrix);
  folder.tensors["layer.input_scale"] =
      writtenTensor(ElementType::F32, {1}, std::vector<float>{0.5F});
  const auto replaced = [](std::string text, std::string_view from, std::string_view to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string plain = compressedConfig(8, "channel", 0, true, true, "int-quantized");
  const std::pair<std::string, std::string> cases[] = {
      {plain, ""},
      {replaced(plain, "\"dynamic\": true", "\"dynamic\": false"),
       ": \"config_groups\": \"group_0\": \"input_activations\": asks for fixed scales by token: "
       "activations are quantised row by row as they come instead"},
      {replaced(plain, "\"ignore\"", "\"novelty\": 3, \"ignore\""),
       ": unknown key \"novelty\", its value 3 is ignored"},
      {replaced(plain, "\"observer\": \"minmax\"", "\"novelty\": 3"),
       ": \"config_groups\": \"group_0\": \"weights\": unknown key \"novelty\", its value 3 is "
       "ignored"},
      {replaced(plain, "\"symmetric\": true, \"strategy\": \"token\"",
                "\"novelty\": 3, \"strategy\": \"token\""),
       ": \"config_groups\": \"group_0\": \"input_activations\": unknown key \"novelty\", its "
       "value 3 is ignored"},
      {replaced(plain, "\"ignore\"", "\"kv_cache_scheme\": {\"num_bits\": 8}, \"ignore\""),
       ": \"kv_cache_scheme\" is ignored: caches are as elsewhere"}};
  for (const auto &[config, expected] : cases) {
    folder.quantization = config;
    const TemporaryFolder place;
    const Result<Checkpoint> model = openFolderWeights(folder.write(place));
    ASSERT_TRUE(model.ok()) << model.status().message();
    const bool isOfRows = expected.find("input_activations") != std::string::npos;
    const Quantization &said = *model->quantization();
    const std::vector<std::string> &warnings = isOfRows ? said.rowWarnings : said.warnings;
    EXPECT_EQ(said.warnings.size() + said.rowWarnings.size(), expected.empty() ? 0U : 1U);
    if (expected.empty()) {
      continue;
    }
    ASSERT_EQ(warnings.size(), 1U) << expected;
    EXPECT_EQ(warnings[0], place / "config.json" + ": \"quantization_config\"" + expected);
  }
}

TEST(QuantizedTest, FoldersWithoutCodesAreAsBefore) {
  QuantizedFolder folder;
  folder.addPlain("layer.weight", {2, 2}, {1, 2, 3, 4});
  const TemporaryFolder place;
  const Result<Checkpoint> model = openFolderWeights(folder.write(place));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->quantization(), nullptr);
  EXPECT_EQ(model->names(), std::vector<std::string>{"layer.weight"});
}

} // namespace
} // namespace heddle
