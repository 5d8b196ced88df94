// SPDX-License-Identifier: Apache-2.0
///
/// Quantised folders that are damaged, contradictory or unsupported: each is rejected with a
/// message that says what was found, what was expected and where.
#include "formats/Quantized/OpenQuantized.h"

#include "tests/formats/Quantized/QuantizedFolder.h"

#include <cmath>
#include <functional>
#include <limits>

namespace heddle {
namespace {

/// One way to damage a folder. `expected` is the message after the name of the file, which is
/// config.json if the message begins with a colon and a quote.
struct Refusal {
  const char *name;
  std::function<void(QuantizedFolder &)> spoil;
  std::string expected;
};

void replace(std::string &text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

std::function<void(QuantizedFolder &)> inConfig(std::string from, std::string to) {
  return [from, to](QuantizedFolder &folder) { replace(folder.quantization, from, to); };
}

std::function<void(QuantizedFolder &)> without(std::string tensor) {
  return [tensor](QuantizedFolder &folder) { folder.tensors.erase(tensor); };
}

std::function<void(QuantizedFolder &)> reshaped(std::string tensor, std::vector<int64_t> shape) {
  return [tensor, shape](QuantizedFolder &folder) {
    WrittenTensor &each = folder.tensors.at(tensor);
    int64_t count = 1;
    for (const int64_t size : shape) {
      count *= size;
    }
    each.shape = shape;
    each.bytes.resize(static_cast<size_t>(count) * infoOf(each.type).bytes());
  };
}

/// Sets item `index` of a tensor.
template <typename T>
std::function<void(QuantizedFolder &)> with(std::string tensor, size_t index, T value) {
  return [tensor, index, value](QuantizedFolder &folder) {
    std::memcpy(folder.tensors.at(tensor).bytes.data() + index * sizeof value, &value,
                sizeof value);
  };
}

std::function<void(QuantizedFolder &)> typed(std::string tensor, ElementType type) {
  return [tensor, type](QuantizedFolder &folder) {
    WrittenTensor &each = folder.tensors.at(tensor);
    const size_t count = each.bytes.size() / infoOf(each.type).bytes();
    each.type = type;
    each.bytes.resize(count * infoOf(type).bytes());
  };
}

void expectRefused(QuantizedFolder folder, const Refusal &refusal) {
  SCOPED_TRACE(refusal.name);
  refusal.spoil(folder);
  const TemporaryFolder place;
  const Result<Checkpoint> model = openFolderWeights(folder.write(place));
  ASSERT_FALSE(model.ok());
  const std::string inConfig = place / "config.json" + ": \"quantization_config\"";
  const std::string inTensors = place / "model.safetensors" + ": tensor ";
  EXPECT_EQ(model.status().message(), refusal.expected.starts_with("layer")
                                          ? inTensors + "\"" + refusal.expected
                                          : inConfig + refusal.expected);
}

// --- compressed-tensors ----------------------------------------------------------------------

/// Replaces a folder's contents with a matrix [n, k] of bytes, in groups, with quantised
/// activations.
std::function<void(QuantizedFolder &)> withGroups(int64_t n, int64_t k, int64_t group) {
  return [n, k, group](QuantizedFolder &folder) {
    std::mt19937 random(2);
    folder.quantization =
        compressedConfig(8, group == 0 ? "channel" : "group", group, true, true, "int-quantized");
    addBytes(folder, "layer", randomCodes(8, n, k, group, random));
  };
}

/// 8 rows of 32 codes in groups of 16, with zero points.
QuantizedFolder packedFolder() {
  std::mt19937 random(1);
  QuantizedFolder folder;
  folder.quantization = compressedConfig(4, "group", 16, false, false, "pack-quantized");
  addPacked(folder, "layer", randomCodes(4, 8, 32, 16, random), true);
  return folder;
}

/// 8 rows of 32 codes as bytes.
QuantizedFolder bytesFolder() {
  std::mt19937 random(1);
  QuantizedFolder folder;
  folder.quantization = compressedConfig(8, "channel", 0, true, true, "int-quantized");
  addBytes(folder, "layer", randomCodes(8, 8, 32, 0, random));
  return folder;
}

const std::string weights = ": \"config_groups\": \"group_0\": \"weights\": ";

TEST(QuantizedRefusalTest, Methods) {
  const std::string choices = ", expected one of compressed-tensors, gptq, awq";
  for (const Refusal &refusal :
       {Refusal{"Method", inConfig("\"compressed-tensors\"", "\"bitsandbytes\""),
                ": \"quant_method\" is \"bitsandbytes\"" + choices},
        Refusal{"NoMethod", inConfig("\"quant_method\": \"compressed-tensors\", ", ""),
                ": \"quant_method\" is missing" + choices},
        Refusal{"NoObject", [](QuantizedFolder &folder) { folder.quantization = "\"gptq\""; },
                " is \"gptq\", expected an object"}}) {
    expectRefused(packedFolder(), refusal);
  }
}

TEST(QuantizedRefusalTest, ConfigurationsOfCompressedTensors) {
  for (const Refusal &refusal :
       {Refusal{"Bits", inConfig("\"num_bits\": 4", "\"num_bits\": 6"),
                weights + "\"num_bits\" is 6, expected 4 or 8"},
        Refusal{"FewBits", inConfig("\"num_bits\": 4", "\"num_bits\": 2"),
                weights + "\"num_bits\" is 2, expected an integer from 4 to 8"},
        Refusal{"Floats", inConfig("\"type\": \"int\"", "\"type\": \"float\""),
                weights + "\"type\" is \"float\", expected one of int"},
        Refusal{"Strategy", inConfig("\"strategy\": \"group\"", "\"strategy\": \"block\""),
                weights + "\"strategy\" is \"block\", expected one of tensor, channel, group"},
        Refusal{"NoGroups", inConfig("\"group_size\": 16", "\"group_size\": null"),
                weights + "\"group_size\" is null, expected a multiple of 8 elements"},
        Refusal{"OddGroups", inConfig("\"group_size\": 16", "\"group_size\": 12"),
                weights + "\"group_size\" is 12, expected a multiple of 8 elements"},
        Refusal{"GroupsOfChannels",
                inConfig("\"strategy\": \"group\"", "\"strategy\": \"channel\""),
                weights + "\"group_size\" is 16, expected none of strategy \"channel\""},
        Refusal{"TensorWithZeros",
                [](QuantizedFolder &folder) {
                  replace(folder.quantization, "\"group\"", "\"tensor\"");
                  replace(folder.quantization, "16", "null");
                },
                weights + "\"symmetric\" is false, expected true of strategy \"tensor\""},
        Refusal{"Format", inConfig("\"pack-quantized\"", "\"marlin-24\""),
                ": \"format\" is \"marlin-24\", expected one of pack-quantized, int-quantized, "
                "naive-quantized"},
        Refusal{"Status", inConfig("\"compressed\"", "\"frozen\""),
                ": \"quantization_status\" is \"frozen\", expected one of compressed"},
        Refusal{"Sparse",
                inConfig("\"ignore\"", "\"sparsity_config\": {\"format\": \"s\"}, \"ignore\""),
                ": \"sparsity_config\" is an object of 1, expected a model without"},
        Refusal{"Transforms",
                inConfig("\"ignore\"", "\"transform_config\": {\"R1\": 1}, \"ignore\""),
                ": \"transform_config\" is an object of 1, expected a model without"},
        Refusal{"Outputs", inConfig("\"output_activations\": null", "\"output_activations\": {}"),
                ": \"config_groups\": \"group_0\": \"output_activations\" is an object of 0, "
                "expected null"}}) {
    expectRefused(packedFolder(), refusal);
  }
  for (const Refusal &refusal :
       {Refusal{"Asymmetric",
                [](QuantizedFolder &folder) {
                  const size_t at = folder.quantization.rfind("\"symmetric\": true");
                  folder.quantization.replace(at, 17, "\"symmetric\": false");
                },
                weights + "\"symmetric\" is false, expected true of 8 bits"},
        Refusal{"RowBits", inConfig("{\"num_bits\": 8", "{\"num_bits\": 4"),
                ": \"config_groups\": \"group_0\": \"input_activations\": \"num_bits\" is 4, "
                "expected an integer from 8 to 8"}}) {
    expectRefused(bytesFolder(), refusal);
  }
}

TEST(QuantizedRefusalTest, TensorsOfCompressedTensors) {
  const std::string packed = "layer.weight_packed\"", scale = "layer.weight_scale\"";
  constexpr uint16_t nan = 0x7E00, zero = 0, negative = 0xBC00, infinite = 0x7C00;
  for (const Refusal &refusal :
       {Refusal{"NoShape", without("layer.weight_shape"),
                "layer.weight_shape\" is missing, expected it beside the other parts of \"layer\""},
        Refusal{"NoScale", without("layer.weight_scale"),
                scale + " is missing, expected it beside the other parts of \"layer\""},
        Refusal{"NoZeros", without("layer.weight_zero_point"),
                "layer.weight_zero_point\" is missing, expected it beside the other parts of "
                "\"layer\""},
        Refusal{"ShapeLies", with<int64_t>("layer.weight_shape", 0, 9),
                packed + " has shape [8, 4], expected [9, 4]"},
        Refusal{"WidthLies", with<int64_t>("layer.weight_shape", 1, 48),
                packed + " has shape [8, 4], expected [8, 6]"},
        Refusal{"ShapeIsNegative", with<int64_t>("layer.weight_shape", 1, -32),
                "layer.weight_shape\" is 8 rows of -32 columns, expected numbers above 0"},
        Refusal{"ShapeIsHuge", with<int64_t>("layer.weight_shape", 1, int64_t{1} << 40),
                "layer.weight_shape\": value 2 is 1099511627776, expected one from -2147483648 to "
                "2147483647"},
        Refusal{"GroupsDoNotDivide",
                [](QuantizedFolder &folder) { with<int64_t>("layer.weight_shape", 1, 28)(folder); },
                packed + ": rows have 28 elements, expected a multiple of \"group_size\", 16"},
        Refusal{"TooManyScales", reshaped("layer.weight_scale", {8, 3}),
                scale + " has shape [8, 3], expected [8, 2]"},
        Refusal{"ScalesAreIntegers", typed("layer.weight_scale", ElementType::I32),
                scale + " has type I32, expected F32, F16 or BF16"},
        Refusal{"ScaleIsNan", with("layer.weight_scale", 5, nan),
                scale + ": scale 6 is nan, expected a finite number above 0"},
        Refusal{"ScaleIsZero", with("layer.weight_scale", 0, zero),
                scale + ": scale 1 is 0, expected a finite number above 0"},
        Refusal{"ScaleIsNegative", with("layer.weight_scale", 1, negative),
                scale + ": scale 2 is -1, expected a finite number above 0"},
        Refusal{"ScaleIsInfinite", with("layer.weight_scale", 15, infinite),
                scale + ": scale 16 is inf, expected a finite number above 0"},
        Refusal{"CodesAreFloats", typed("layer.weight_packed", ElementType::F32),
                packed + " has type F32, expected I32"},
        Refusal{"ZerosHaveAnotherShape", reshaped("layer.weight_zero_point", {2, 2}),
                "layer.weight_zero_point\" has shape [2, 2], expected [1, 2]"},
        Refusal{"ZerosBeyondFourBits",
                [](QuantizedFolder &folder) {
                  folder.tensors["layer.weight_zero_point"] =
                      writtenTensor(ElementType::I8, {8, 2}, std::vector<int8_t>(16, 8));
                },
                "layer.weight_zero_point\" has codes of zero beyond -8 to 7, expected those of 4 "
                "bits"},
        Refusal{"ActOrder",
                [](QuantizedFolder &folder) {
                  std::vector<int32_t> order(32, 0);
                  std::fill_n(order.begin(), 16, 1);
                  folder.tensors["layer.weight_g_idx"] =
                      writtenTensor(ElementType::I32, {32}, order);
                },
                "layer.weight_g_idx\": element 1 is in group 2, expected 1: groups in the order of "
                "activations (\"desc_act\", \"actorder\") are not supported"}}) {
    expectRefused(packedFolder(), refusal);
  }
}

TEST(QuantizedRefusalTest, BytesOfCompressedTensors) {
  for (const Refusal &refusal :
       {Refusal{"FourBits",
                [](QuantizedFolder &folder) {
                  const size_t at = folder.quantization.rfind("\"num_bits\": 8");
                  folder.quantization.replace(at, 13, "\"num_bits\": 4");
                },
                "layer.weight\" has codes in bytes, expected \"num_bits\" of 8, got 4"},
        Refusal{"Vector", reshaped("layer.weight", {256}),
                "layer.weight\" has shape [256], expected rows and columns"},
        Refusal{"Empty", reshaped("layer.weight", {0, 32}),
                "layer.weight\" has shape [0, 32], expected rows and columns"},
        Refusal{"ZeroPoint",
                [](QuantizedFolder &folder) {
                  folder.tensors["layer.weight_zero_point"] =
                      writtenTensor(ElementType::I8, {8, 1}, std::vector<int8_t>(8, 1));
                },
                "layer.weight_zero_point\" has codes of zero other than 0, expected none of a "
                "symmetric scheme"},
        Refusal{"GroupsAreNotMultiplied", withGroups(8, 32, 2),
                "layer.weight\": 2 elements share a scale, expected a multiple of 4 or the whole "
                "row, at most 65536, where \"input_activations\" are quantised"},
        Refusal{"RowsAreTooLong", withGroups(1, 65540, 0),
                "layer.weight\": 65540 elements share a scale, expected a multiple of 4 or the "
                "whole row, at most 65536, where \"input_activations\" are quantised"}}) {
    expectRefused(bytesFolder(), refusal);
  }
}

// --- GPTQ and AWQ ----------------------------------------------------------------------------

/// 16 columns of 32 in groups of 16.
QuantizedFolder gptqFolder() {
  std::mt19937 random(1);
  QuantizedFolder folder;
  folder.quantization = gptqConfig(4, 16);
  addGptq(folder, "layer", randomCodes(4, 16, 32, 16, random));
  return folder;
}

TEST(QuantizedRefusalTest, Gptq) {
  constexpr uint16_t nan = 0x7E00;
  for (const Refusal &refusal :
       {Refusal{"Bits", inConfig("\"bits\": 4", "\"bits\": 3"), ": \"bits\" is 3, expected 4 or 8"},
        Refusal{"Group", inConfig("\"group_size\": 16", "\"group_size\": 20"),
                ": \"group_size\" is 20, expected -1 or a multiple of 8"},
        Refusal{"NoGroup", inConfig("\"group_size\": 16", "\"group_size\": 0"),
                ": \"group_size\" is 0, expected -1 or a multiple of 8"},
        Refusal{"Format", inConfig("\"gptq\"}", "\"marlin\"}"),
                ": \"checkpoint_format\" is \"marlin\", expected one of gptq, gptq_v2"},
        Refusal{"Marlin", inConfig("\"sym\"", "\"is_marlin_format\": true, \"sym\""),
                ": \"is_marlin_format\" is true, expected a model without"},
        Refusal{"Dynamic", inConfig("\"sym\"", "\"dynamic\": {\"-:lm_head\": {}}, \"sym\""),
                ": \"dynamic\" is an object of 1, expected a model without"},
        Refusal{"PackType", inConfig("\"sym\"", "\"pack_dtype\": \"int8\", \"sym\""),
                ": \"pack_dtype\" is \"int8\", expected one of int32; did you mean \"int32\"?"},
        Refusal{"GroupsDoNotDivide", inConfig("\"group_size\": 16", "\"group_size\": 24"),
                "layer.qweight\": rows have 32 elements, expected a multiple of \"group_size\", "
                "24"},
        Refusal{"OtherGroups", inConfig("\"group_size\": 16", "\"group_size\": 32"),
                "layer.scales\" has shape [2, 16], expected [1, 16]"},
        Refusal{"Columns", reshaped("layer.qweight", {4, 12}),
                "layer.qweight\" has 12 columns, expected a multiple of 8"},
        Refusal{"NoZeros", without("layer.qzeros"),
                "layer.qzeros\" is missing, expected it beside the other parts of \"layer\""},
        Refusal{"ZerosHaveAnotherShape", reshaped("layer.qzeros", {2, 3}),
                "layer.qzeros\" has shape [2, 3], expected [2, 2]"},
        Refusal{"ZeroOf16", with<uint32_t>("layer.qzeros", 1, 0x777777F7),
                "layer.qzeros\": the code of zero of column 10, group 1 is 16, expected 0 to 15"},
        Refusal{"ScaleIsNan", with("layer.scales", 17, nan),
                "layer.scales\": scale 18 is nan, expected a finite number above 0"},
        Refusal{"ActOrder", with<int32_t>("layer.g_idx", 3, 1),
                "layer.g_idx\": element 4 is in group 2, expected 1: groups in the order of "
                "activations (\"desc_act\", \"actorder\") are not supported"},
        Refusal{"OrderIsShort", reshaped("layer.g_idx", {16}),
                "layer.g_idx\" has shape [16], expected [32]"}}) {
    expectRefused(gptqFolder(), refusal);
  }
}

TEST(QuantizedRefusalTest, ZerosOfEightBits) {
  std::mt19937 random(1);
  QuantizedFolder folder;
  folder.quantization = gptqConfig(8, 16);
  addGptq(folder, "layer", randomCodes(8, 16, 32, 16, random));
  expectRefused(folder, {"Zero", with<uint8_t>("layer.qzeros", 2, 99),
                         "layer.qzeros\": the code of zero of column 3, group 1 is 100, expected "
                         "128 of 8 bits"});
}

TEST(QuantizedRefusalTest, Awq) {
  std::mt19937 random(1);
  QuantizedFolder folder;
  folder.quantization = awqConfig(16);
  addAwq(folder, "layer", randomCodes(4, 16, 32, 16, random));
  for (const Refusal &refusal :
       {Refusal{"Bits", inConfig("\"bits\": 4", "\"bits\": 8"),
                ": \"bits\" is 8, expected an integer from 4 to 4"},
        Refusal{"Version", inConfig("\"gemm\"", "\"gemv\""),
                ": \"version\" is \"gemv\", expected one of gemm, GEMM; did you mean \"gemm\"?"},
        Refusal{"NoZeroPoint", inConfig("\"zero_point\": true", "\"zero_point\": false"),
                ": \"zero_point\" is false, expected true"},
        Refusal{"NoGroupSize", inConfig("\"group_size\": 16, ", ""),
                ": \"group_size\" is missing, expected an integer from -1 to 1048576"},
        Refusal{"PackedLikeGptq", reshaped("layer.qweight", {4, 16}),
                "layer.qweight\": rows have 4 elements, expected a multiple of \"group_size\", "
                "16"},
        Refusal{"TooManyScales", reshaped("layer.scales", {3, 16}),
                "layer.scales\" has shape [3, 16], expected [2, 16]"},
        Refusal{"ZerosAreFloats", typed("layer.qzeros", ElementType::F32),
                "layer.qzeros\" has type F32, expected I32"}}) {
    expectRefused(folder, refusal);
  }
}

TEST(QuantizedRefusalTest, Folders) {
  // A configuration without any quantised tensors, and a matrix that is stored twice.
  QuantizedFolder plain;
  plain.quantization = gptqConfig(4, 16);
  plain.addPlain("layer.weight", {2, 2}, {1, 2, 3, 4});
  const TemporaryFolder first, second;
  EXPECT_EQ(openFolderWeights(plain.write(first)).status().message(),
            first.path() + ": has no quantised tensors, expected some, since "
                           "\"quantization_config\" is of \"gptq\"");
  QuantizedFolder both = gptqFolder();
  both.addPlain("layer.weight", {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(openFolderWeights(both.write(second)).status().message(),
            second.path() + ": tensor \"layer.weight\": is there as numbers and as codes, expected "
                            "one of both");
}

} // namespace
} // namespace heddle
