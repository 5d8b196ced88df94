// SPDX-License-Identifier: Apache-2.0
///
/// A matrix that a file stores as integers with scales. The codes, scales and zero points of any
/// rows are unpacked on request from the order of the file. The file stays mapped and nothing is
/// rounded: a program that keeps codes has those of the file.
#ifndef HEDDLE_FORMATS_CHECKPOINT_QUANTIZEDTENSOR_H
#define HEDDLE_FORMATS_CHECKPOINT_QUANTIZEDTENSOR_H

#include "heddle/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// How the elements of a row are stored: each is (code - zero) * scale, or code * scale + minimum,
/// rounded to f32 once.
struct CodeLayout {
  /// 8: codes are in -128 to 127, and the zero point is 0. 4: codes and zero points are in 0 to 15.
  unsigned bits = 8;
  /// The number of elements of a row that share a scale and a zero point; 0: all of them.
  int64_t group = 0;
  /// F32, F16 or BF16: the type that represents every scale, and every minimum, exactly.
  ElementType scales = ElementType::F32;
  /// Whether groups have a minimum instead of a zero point.
  bool hasMinimums = false;

  bool operator==(const CodeLayout &) const = default;
  bool hasZeros() const { return bits == 4 && !hasMinimums; }
  /// Returns the number of groups in a row of `columns` elements.
  int64_t groupsOf(int64_t columns) const { return group == 0 ? 1 : (columns + group - 1) / group; }
};

/// Rows of codes, one after another.
struct CodeRows {
  /// One for each element.
  std::vector<int8_t> codes;
  /// One for each group.
  std::vector<float> scales;
  /// One for each group, if the layout has zeros.
  std::vector<int8_t> zeros;
  /// One for each group, if the layout has minimums.
  std::vector<float> minimums;
};

/// The codes of a matrix. It points into a mapped file and does not own it.
class QuantizedTensor {
public:
  QuantizedTensor(CodeLayout layout, int64_t rows, int64_t columns, std::string kind)
      : own(layout), ownRows(rows), ownColumns(columns), ownKind(std::move(kind)) {}
  QuantizedTensor(const QuantizedTensor &) = delete;
  QuantizedTensor &operator=(const QuantizedTensor &) = delete;
  virtual ~QuantizedTensor() = default;

  const CodeLayout &layout() const { return own; }
  int64_t rows() const { return ownRows; }
  int64_t columns() const { return ownColumns; }
  int64_t groups() const { return own.groupsOf(ownColumns); }
  /// Returns the kind of its elements, in the terms of its format: "Q4_0", "W8A16", "int4 groups of
  /// 128".
  const std::string &kind() const { return ownKind; }

  /// Returns the codes of `count` rows from `first` on, which must exist.
  CodeRows read(int64_t first, int64_t count) const;
  /// Computes the values of these rows; `destination` has as many elements as the rows.
  void widen(int64_t first, int64_t count, std::span<float> destination) const;
  /// Returns whether any of these rows contains the code -128, which kernels without integer dot
  /// products must know. Reads every code.
  bool hasLeastCode(int64_t first, int64_t count) const;

protected:
  /// Each of these writes the data of `count` rows from `first` on, row by row.
  virtual void unpackCodes(int64_t first, int64_t count, std::span<int8_t> codes) const = 0;
  virtual void unpackScales(int64_t first, int64_t count, std::span<float> scales) const = 0;
  /// Only called for layouts that have them.
  virtual void unpackZeros(int64_t first, int64_t count, std::span<int8_t> zeros) const = 0;
  virtual void unpackMinimums(int64_t, int64_t, std::span<float>) const {}

private:
  CodeLayout own;
  int64_t ownRows, ownColumns;
  std::string ownKind;
};

/// The file formats with codes.
enum class CodeFormat : uint8_t { CompressedTensors, Gptq, Awq, Gguf, CTranslate2 };
/// Returns the name that `precision` uses: "compressed-tensors", "gptq".
constexpr std::string_view nameOf(CodeFormat format) {
  constexpr std::string_view names[] = {"compressed-tensors", "gptq", "awq", "gguf", "ctranslate2"};
  return names[static_cast<size_t>(format)];
}

/// A file's description of its codes as a whole.
struct Quantization {
  CodeFormat format = CodeFormat::Gguf;
  /// The kinds of its tensors, without duplicates, in the order of the file.
  std::vector<std::string> kinds = {};
  /// The bits to which products quantise rows of activations before they multiply codes; 0: rows
  /// stay f32.
  unsigned rowBits = 0;
  /// What the file requests and is not done, one line each: in general, and for the quantisation of
  /// rows, which only matters if products quantise rows because the file requests it.
  std::vector<std::string> warnings = {};
  std::vector<std::string> rowWarnings = {};

  /// Returns a text such as "gguf, Q4_0 and Q6_K".
  std::string text() const;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_QUANTIZEDTENSOR_H
