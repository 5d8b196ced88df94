// SPDX-License-Identifier: Apache-2.0
///
/// Rows of codes and scales: what quantising a weight makes, and how it lies in a file. The bytes
/// follow from the values alone, so that two compilations give the same file.
#ifndef HEDDLE_COMPILER_LINK_QUANTIZEDVALUES_H
#define HEDDLE_COMPILER_LINK_QUANTIZEDVALUES_H

#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/QuantizedTensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// The values of a parameter of transformer::QuantizedType.
class QuantizedValues {
public:
  /// Quantises rows of `columns` elements as the type says.
  QuantizedValues(std::span<const float> values, transformer::QuantizedType type, int64_t columns);

  /// Rows that are quantised already, as the type says: scales and minimums are numbers of the
  /// type's scales.
  QuantizedValues(CodeRows rows, transformer::QuantizedType type, int64_t columns);

  /// How many rows of how many elements there are.
  int64_t rowCount() const { return static_cast<int64_t>(own.codes.size()) / columns; }
  int64_t columnCount() const { return columns; }

  /// Makes an element the code that is nearest to a number, with the scale and the zero that it
  /// has, and gives the number that it stands for then. Of a group that is no number nothing
  /// changes. There are no minimums.
  double round(int64_t row, int64_t column, double value);
  /// The number that an element stands for.
  double valueOf(int64_t row, int64_t column) const;

  /// Makes a row those of other values of the same type, scales and zeros.
  void copyRow(int64_t row, const QuantizedValues &from);

  /// Rows of another matrix of the same type, behind these; and some of the rows.
  void append(const QuantizedValues &rows);
  QuantizedValues rowsFrom(int64_t first, int64_t count) const;

  /// What the constructor takes.
  const CodeRows &all() const { return own; }
  transformer::QuantizedType elementType() const { return type; }

  /// What kernels compute with: each code, less the one of zero, times its scale, or plus its
  /// minimum, rounded once.
  std::vector<float> widen() const;

  /// As look-ups read them: of each row the scales, the codes of zero or minimums, and the codes,
  /// each filled up to whole words.
  std::vector<std::byte> rows() const;

  /// As products read them: panels of so many columns, one for each row of the matrix, those of
  /// each of `groups` equal parts of the rows side by side, zero beyond their rows. In a panel
  /// those elements of k come together that share scales. Before them is what the columns have:
  /// scales, and then minimums, or codes of zero, two in a byte, or of 8 bits with several codes
  /// `together` their sums in i32, filled up to the bytes that the type gives a head. Codes lie as
  /// [elements / together][columns][together], zero beyond the last element; of 4 bits rows 2 i and
  /// 2 i + 1 of [columns][together] lie in one row of bytes, the first in the lower halves.
  std::vector<std::byte> packed(int64_t panelColumns, int64_t groups, int64_t together = 1) const;

private:
  /// What the columns of a panel have before the codes of a group: those of `row`.
  void packHead(std::byte *head, int64_t panelColumns, int64_t column, int64_t number,
                std::optional<int32_t> sum) const;
  /// A scale or a minimum.
  void storeScale(std::byte *to, float scale) const;

  transformer::QuantizedType type;
  /// Elements of a row, and how many of them share a scale.
  int64_t columns, group;
  int64_t scalesOfRow;
  CodeRows own;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_QUANTIZEDVALUES_H
