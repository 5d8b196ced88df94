// SPDX-License-Identifier: Apache-2.0
///
/// A matrix that a file stores as integers with scales: codes, scales and codes of zero of any of
/// its rows, unpacked on request from whatever order the file has them in. The file stays mapped
/// and nothing is rounded: a program that keeps codes has those of the file.
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
  /// 8: codes are -128 to 127, and zero is 0. 4: codes are 0 to 15, and so are codes of zero.
  unsigned bits = 8;
  /// How many elements of a row share a scale and a code of zero; 0: all of them.
  int64_t group = 0;
  /// F32, F16 or BF16: the type that holds every scale, and every minimum, exactly.
  ElementType scales = ElementType::F32;
  /// Whether groups have a minimum, and no code of zero.
  bool hasMinimums = false;

  bool operator==(const CodeLayout &) const = default;
  bool hasZeros() const { return bits == 4 && !hasMinimums; }
  /// Groups of a row of so many elements.
  int64_t groupsOf(int64_t columns) const { return group == 0 ? 1 : (columns + group - 1) / group; }
};

/// Rows of codes, one after the other.
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
  /// What its elements are, in the words of its format: "Q4_0", "W8A16", "int4 groups of 128".
  const std::string &kind() const { return ownKind; }

  /// The codes of some rows, which the matrix has.
  CodeRows read(int64_t first, int64_t count) const;
  /// The numbers that they stand for; `destination` has as many elements as the rows.
  void widen(int64_t first, int64_t count, std::span<float> destination) const;
  /// Whether one of these rows has the code -128, which kernels without dot products of integers
  /// have to know of. Looks at every code.
  bool hasLeastCode(int64_t first, int64_t count) const;

protected:
  /// Each writes what `count` rows from `first` on have, row by row.
  virtual void unpackCodes(int64_t first, int64_t count, std::span<int8_t> codes) const = 0;
  virtual void unpackScales(int64_t first, int64_t count, std::span<float> scales) const = 0;
  /// Only of layouts that have them.
  virtual void unpackZeros(int64_t first, int64_t count, std::span<int8_t> zeros) const = 0;
  virtual void unpackMinimums(int64_t, int64_t, std::span<float>) const {}

private:
  CodeLayout own;
  int64_t ownRows, ownColumns;
  std::string ownKind;
};

/// The files that have codes.
enum class CodeFormat : uint8_t { CompressedTensors, Gptq, Awq, Gguf, CTranslate2 };
/// As `precision` names it: "compressed-tensors", "gptq".
constexpr std::string_view nameOf(CodeFormat format) {
  constexpr std::string_view names[] = {"compressed-tensors", "gptq", "awq", "gguf", "ctranslate2"};
  return names[static_cast<size_t>(format)];
}

/// What a file says of its codes as a whole.
struct Quantization {
  CodeFormat format = CodeFormat::Gguf;
  /// The kinds of its tensors, each once, in the order of the file.
  std::vector<std::string> kinds = {};
  /// Bits that products quantise rows of activations to before they multiply codes; 0: none, rows
  /// stay in f32.
  unsigned rowBits = 0;
  /// What the file asks for and is not done, one line each: of all, and of the rows that products
  /// quantise, which only matters where they do so because the file says it.
  std::vector<std::string> warnings = {};
  std::vector<std::string> rowWarnings = {};

  /// "gguf, Q4_0 and Q6_K"
  std::string text() const;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_CHECKPOINT_QUANTIZEDTENSOR_H
