// SPDX-License-Identifier: Apache-2.0
///
/// Writes folders of quantised models in every supported format, and returns the values of their
/// codes. The writers follow the descriptions of the formats, element by element, and share no code
/// with the readers; tests may change the output to something that no writer would write.
#ifndef HEDDLE_TESTS_FORMATS_QUANTIZED_QUANTIZEDFOLDER_H
#define HEDDLE_TESTS_FORMATS_QUANTIZED_QUANTIZEDFOLDER_H

#include "formats/Checkpoint/Safetensors.h"
#include "tests/base/TemporaryFolder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace heddle {

/// A matrix [n, k] of codes: 4-bit codes are unsigned with zero points, 8-bit codes are signed.
struct CodedMatrix {
  int bits = 4;
  int64_t n = 0, k = 0;
  /// The number of elements that share a scale.
  int64_t group = 0;
  std::vector<int> codes;
  /// [n, groups]: values of f16, so that they are exact in every type of scales but bf16.
  std::vector<float> scales;
  std::vector<int> zeros;

  int64_t groups() const { return k / group; }
  int zeroOf(int64_t row, int64_t element) const {
    return bits == 8 ? 0 : zeros[row * groups() + element / group];
  }
  std::vector<float> values() const {
    std::vector<float> result(codes.size());
    for (int64_t i = 0; i < n * k; ++i) {
      result[i] = static_cast<float>(codes[i] - zeroOf(i / k, i % k)) *
                  scales[i / k * groups() + i % k / group];
    }
    return result;
  }
};

/// Returns random codes and scales. Zero points are `zero`, or random if it is negative. With
/// `isExact`, scales are powers of two, so that quantising the values again is lossless.
inline CodedMatrix randomCodes(int bits, int64_t n, int64_t k, int64_t group, std::mt19937 &random,
                               int zero = -1, bool isExact = false) {
  CodedMatrix matrix{bits, n, k, group == 0 ? k : group, {}, {}, {}};
  std::uniform_int_distribution<int> code(bits == 4 ? 0 : -127, bits == 4 ? 15 : 127);
  std::uniform_int_distribution<int> anyZero(1, 15), fraction(0, 1023);
  for (int64_t i = 0; i < n * k; ++i) {
    matrix.codes.push_back(code(random));
  }
  for (int64_t i = 0; i < n * matrix.groups(); ++i) {
    const float part = isExact ? 0 : static_cast<float>(fraction(random)) / 1024;
    matrix.scales.push_back((1 + part) / (bits == 4 ? 128.0F : 1024.0F));
    matrix.zeros.push_back(zero >= 0 ? zero : anyZero(random));
  }
  return matrix;
}

/// The type, shape and bytes of a tensor to be written.
struct WrittenTensor {
  ElementType type;
  std::vector<int64_t> shape;
  std::string bytes;
};

template <typename T>
WrittenTensor writtenTensor(ElementType type, std::vector<int64_t> shape,
                            const std::vector<T> &values) {
  return {type, std::move(shape),
          std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T))};
}

/// The contents of a folder to be written.
struct QuantizedFolder {
  std::map<std::string, WrittenTensor> tensors;
  /// The value of "quantization_config", and the other entries of config.json: "key": value, ...
  std::string quantization;
  std::string config = "\"model_type\": \"bert\"";

  void addPlain(const std::string &name, std::vector<int64_t> shape,
                const std::vector<float> &values) {
    tensors[name] = writtenTensor(ElementType::F32, std::move(shape), values);
  }

  std::string write(const TemporaryFolder &folder) const {
    std::vector<SafetensorsTensor> list;
    for (const auto &[name, tensor] : tensors) {
      list.push_back({name, tensor.type, tensor.shape,
                      std::as_bytes(std::span(tensor.bytes.data(), tensor.bytes.size()))});
    }
    const Status status = writeSafetensors(folder / "model.safetensors", list);
    EXPECT_TRUE(status.ok()) << status.message();
    folder.write("config.json",
                 "{" + config +
                     (quantization.empty() ? "" : ", \"quantization_config\": " + quantization) +
                     "}");
    return folder.path();
  }
};

inline std::vector<uint16_t> halvesOf(const std::vector<float> &values) {
  std::vector<uint16_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(), [](float value) {
    const auto half = static_cast<_Float16>(value);
    uint16_t result;
    std::memcpy(&result, &half, sizeof result);
    return result;
  });
  return bits;
}

// --- compressed-tensors ----------------------------------------------------------------------

inline std::string compressedConfig(int bits, const std::string &strategy, int64_t group,
                                    bool isSymmetric, bool quantisesRows,
                                    const std::string &format) {
  const std::string rows =
      quantisesRows ? R"({"num_bits": 8, "type": "int", "symmetric": true, "strategy": "token",
                          "dynamic": true, "group_size": null, "observer": null})"
                    : "null";
  return R"({"quant_method": "compressed-tensors", "format": ")" + format +
         R"(", "quantization_status": "compressed", "ignore": ["lm_head"], "config_groups": {
            "group_0": {"targets": ["Linear"], "output_activations": null,
                        "input_activations": )" +
         rows + R"(, "weights": {"num_bits": )" + std::to_string(bits) +
         R"(, "type": "int", "symmetric": )" + (isSymmetric ? "true" : "false") +
         R"(, "strategy": ")" + strategy + R"(", "group_size": )" +
         (group == 0 ? "null" : std::to_string(group)) +
         R"(, "dynamic": false, "observer": "minmax", "actorder": null}}}})";
}

/// Packs codes along k into words. A field is the code plus 2^(bits - 1); 4-bit codes are stored in
/// that form here.
inline void addPacked(QuantizedFolder &folder, const std::string &layer, const CodedMatrix &matrix,
                      bool hasZeros) {
  const int64_t inWord = 32 / matrix.bits, words = (matrix.k + inWord - 1) / inWord;
  std::vector<uint32_t> packed(matrix.n * words);
  for (int64_t i = 0; i < matrix.n * matrix.k; ++i) {
    const uint32_t code = static_cast<uint32_t>(matrix.codes[i] + (matrix.bits == 8 ? 128 : 0));
    const int64_t element = i % matrix.k;
    packed[i / matrix.k * words + element / inWord] |= code << (element % inWord * matrix.bits);
  }
  auto &tensors = folder.tensors;
  tensors[layer + ".weight_packed"] = writtenTensor(ElementType::I32, {matrix.n, words}, packed);
  tensors[layer + ".weight_shape"] =
      writtenTensor(ElementType::I64, {2}, std::vector<int64_t>{matrix.n, matrix.k});
  tensors[layer + ".weight_scale"] =
      writtenTensor(ElementType::F16, {matrix.n, matrix.groups()}, halvesOf(matrix.scales));
  if (hasZeros) {
    const int64_t rows = (matrix.n + 7) / 8, groups = matrix.groups();
    std::vector<uint32_t> zeros(rows * groups);
    for (int64_t i = 0; i < matrix.n * groups; ++i) {
      const int64_t row = i / groups;
      zeros[row / 8 * groups + i % groups] |= static_cast<uint32_t>(matrix.zeros[i])
                                              << (row % 8 * 4);
    }
    tensors[layer + ".weight_zero_point"] = writtenTensor(ElementType::I32, {rows, groups}, zeros);
  }
}

/// Adds 8-bit codes as bytes.
inline void addBytes(QuantizedFolder &folder, const std::string &layer, const CodedMatrix &matrix) {
  folder.tensors[layer + ".weight"] =
      writtenTensor(ElementType::I8, {matrix.n, matrix.k},
                    std::vector<int8_t>(matrix.codes.begin(), matrix.codes.end()));
  folder.tensors[layer + ".weight_scale"] =
      writtenTensor(ElementType::F32, {matrix.n, matrix.groups()}, matrix.scales);
}

// --- GPTQ and AWQ ----------------------------------------------------------------------------

/// Returns the transpose [columns, rows] of a row-major matrix [rows, columns].
template <typename T>
std::vector<T> transposedValues(const std::vector<T> &values, int64_t rows, int64_t columns) {
  std::vector<T> result(values.size());
  for (int64_t i = 0; i < rows * columns; ++i) {
    result[i % columns * rows + i / columns] = values[i];
  }
  return result;
}

inline std::string gptqConfig(int bits, int64_t group, const std::string &version = "gptq") {
  return R"({"quant_method": "gptq", "bits": )" + std::to_string(bits) + R"(, "group_size": )" +
         std::to_string(group == 0 ? -1 : group) +
         R"(, "desc_act": false, "sym": false, "damp_percent": 0.1, "checkpoint_format": ")" +
         version + R"("})";
}

inline void addGptq(QuantizedFolder &folder, const std::string &layer, const CodedMatrix &matrix,
                    bool isSecondVersion = false) {
  const int64_t inWord = 32 / matrix.bits, groups = matrix.groups();
  std::vector<uint32_t> words(matrix.k / inWord * matrix.n), zeros(groups * matrix.n / inWord);
  for (int64_t row = 0; row < matrix.n; ++row) {
    for (int64_t i = 0; i < matrix.k; ++i) {
      const auto code =
          static_cast<uint32_t>(matrix.codes[row * matrix.k + i] + (matrix.bits == 8 ? 128 : 0));
      words[i / inWord * matrix.n + row] |= code << (i % inWord * matrix.bits);
    }
    for (int64_t group = 0; group < groups; ++group) {
      const int zero = matrix.bits == 8 ? 128 : matrix.zeros[row * groups + group];
      zeros[(group * matrix.n + row) / inWord] |=
          static_cast<uint32_t>(zero - (isSecondVersion ? 0 : 1)) << (row % inWord * matrix.bits);
    }
  }
  std::vector<int32_t> order(matrix.k);
  for (int64_t i = 0; i < matrix.k; ++i) {
    order[i] = static_cast<int32_t>(i / matrix.group);
  }
  auto &tensors = folder.tensors;
  tensors[layer + ".qweight"] =
      writtenTensor(ElementType::I32, {matrix.k / inWord, matrix.n}, words);
  tensors[layer + ".qzeros"] = writtenTensor(ElementType::I32, {groups, matrix.n / inWord}, zeros);
  tensors[layer + ".scales"] =
      writtenTensor(ElementType::F16, {groups, matrix.n},
                    halvesOf(transposedValues(matrix.scales, matrix.n, groups)));
  tensors[layer + ".g_idx"] = writtenTensor(ElementType::I32, {matrix.k}, order);
}

inline std::string awqConfig(int64_t group) {
  return R"({"quant_method": "awq", "bits": 4, "group_size": )" + std::to_string(group) +
         R"(, "zero_point": true, "version": "gemm", "modules_to_not_convert": null})";
}

inline void addAwq(QuantizedFolder &folder, const std::string &layer, const CodedMatrix &matrix) {
  // Field i of a word holds column order[i] of eight.
  constexpr int order[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const int64_t groups = matrix.groups();
  const auto pack = [&](const std::vector<int> &lines, int64_t count) {
    std::vector<uint32_t> words(count * matrix.n / 8);
    for (int64_t word = 0; word < static_cast<int64_t>(words.size()); ++word) {
      for (int field = 0; field < 8; ++field) {
        words[word] |= static_cast<uint32_t>(lines[word * 8 + order[field]]) << (4 * field);
      }
    }
    return words;
  };
  auto &tensors = folder.tensors;
  tensors[layer + ".qweight"] =
      writtenTensor(ElementType::I32, {matrix.k, matrix.n / 8},
                    pack(transposedValues(matrix.codes, matrix.n, matrix.k), matrix.k));
  tensors[layer + ".qzeros"] =
      writtenTensor(ElementType::I32, {groups, matrix.n / 8},
                    pack(transposedValues(matrix.zeros, matrix.n, groups), groups));
  tensors[layer + ".scales"] =
      writtenTensor(ElementType::F16, {groups, matrix.n},
                    halvesOf(transposedValues(matrix.scales, matrix.n, groups)));
}

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_QUANTIZED_QUANTIZEDFOLDER_H
