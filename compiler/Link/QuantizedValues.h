// SPDX-License-Identifier: Apache-2.0
///
/// Rows of codes and scales: the result of quantising a weight, and its layout in a file. The bytes
/// depend only on the values, so that compilations are reproducible.
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
  /// Quantises rows of `columns` elements according to the type.
  QuantizedValues(std::span<const float> values, transformer::QuantizedType type, int64_t columns);

  /// Takes rows that are already quantised according to the type: scales and minimums are numbers
  /// of the type's scales.
  QuantizedValues(CodeRows rows, transformer::QuantizedType type, int64_t columns);

  /// Returns the number of rows, and of elements per row.
  int64_t rowCount() const { return static_cast<int64_t>(own.codes.size()) / columns; }
  int64_t columnCount() const { return columns; }

  /// Sets an element to the code nearest to `value`, with its existing scale and zero, and returns
  /// the number that the code stands for. A group whose scale is NaN is unchanged. The type must
  /// have no minimums.
  double round(int64_t row, int64_t column, double value);
  /// Returns the number that an element stands for.
  double valueOf(int64_t row, int64_t column) const;

  /// Copies a row from other values of the same type, scales and zeros.
  void copyRow(int64_t row, const QuantizedValues &from);

  /// Append rows of another matrix of the same type, and return a range of rows.
  void append(const QuantizedValues &rows);
  QuantizedValues rowsFrom(int64_t first, int64_t count) const;

  /// Returns the codes in the form that the constructor takes.
  const CodeRows &all() const { return own; }
  transformer::QuantizedType elementType() const { return type; }

  /// Returns the numbers that kernels compute with: each code minus that of zero, times its scale,
  /// or plus its minimum, rounded once.
  std::vector<float> widen() const;

  /// Returns the layout of look-ups: for each row the scales, the codes of zero or minimums, and
  /// the codes, each padded to whole words.
  std::vector<std::byte> rows() const;

  /// Returns the layout of products: panels of `panelColumns` columns, one column for each matrix
  /// row. Each of the `groups` equal parts of the rows has its own panels, padded with zeros. A
  /// panel stores the elements of k by scale group, each with a head before its codes. The head has
  /// the columns' scales, then minimums, or codes of zero, two per byte, or for 8 bits with
  /// `together` > 1 the sums of the codes in i32; it is padded to the type's head size. The layout
  /// of codes is [elements / together][columns][together], padded with zeros; for 4 bits, rows 2 i
  /// and 2 i + 1 of [columns][together] share a row of bytes, the first in the lower halves.
  std::vector<std::byte> packed(int64_t panelColumns, int64_t groups, int64_t together = 1) const;

private:
  /// Writes the entries of one column in a head; `number` is the index of its scale.
  void packHead(std::byte *head, int64_t panelColumns, int64_t column, int64_t number,
                std::optional<int32_t> sum) const;
  /// Writes a scale or a minimum.
  void storeScale(std::byte *to, float scale) const;

  transformer::QuantizedType type;
  /// Elements of a row, and how many of them share a scale.
  int64_t columns, group;
  int64_t scalesOfRow;
  CodeRows own;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_QUANTIZEDVALUES_H
