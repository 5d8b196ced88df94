// SPDX-License-Identifier: Apache-2.0
///
/// Rows of codes and scales: what quantising a weight makes, and how it lies in a file. The bytes
/// follow from the values alone, so that two compilations give the same file.
#ifndef HEDDLE_COMPILER_LINK_QUANTIZEDVALUES_H
#define HEDDLE_COMPILER_LINK_QUANTIZEDVALUES_H

#include "dialects/Transformer/Transformer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// The values of a parameter of transformer::QuantizedType.
class QuantizedValues {
public:
  /// Quantises rows of `columns` elements as the type says.
  QuantizedValues(std::span<const float> values, transformer::QuantizedType type, int64_t columns);

  /// What kernels compute with: each code times its scale, rounded once.
  std::vector<float> widen() const;

  /// As look-ups read them: of each row the scales and then the codes, filled up to whole words.
  std::vector<std::byte> rows() const;

  /// As products read them: panels of so many columns, one for each row of the matrix, those of
  /// each of `groups` equal parts of the rows side by side, zero beyond their rows. In a panel
  /// those elements of k come together that share scales: the scales, [columns] in f32, then the
  /// codes, [elements][columns]. With more than one code `together`, their sums, [columns] in i32,
  /// come after the scales, and codes lie as [elements / together][columns][together], zero beyond
  /// the last element.
  std::vector<std::byte> packed(int64_t panelColumns, int64_t groups, int64_t together = 1) const;

private:
  /// Elements of a row, and how many of them share a scale.
  int64_t columns, group;
  int64_t scalesOfRow;
  std::vector<int8_t> codes;
  std::vector<float> scales;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_QUANTIZEDVALUES_H
