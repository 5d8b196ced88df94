// SPDX-License-Identifier: Apache-2.0
///
/// Conventions between the compiler and the tools for models whose graph computes over rectangles
/// [batch, sequence]: they become entries over ragged rows, without rows of padding.
///
/// A row is padding where a mask has its `pad`; a mask is an optional input that declares one.
/// Without such an input, a row is padding where the ids that declare a pad have it; with a mask,
/// these ids may have it only after the last row of a sequence, because positions are counted
/// without it. In `rectangleEntry` the rows of a sequence are its first columns. A model that also
/// has `columnsEntry` accepts padding anywhere: there the input `columnsInput` holds the column of
/// each row and, if the model computes with it, `columnNumbersInput` holds it as a number. Without
/// that entry, padding may only follow all rows of a sequence. Outputs are zero for rows of
/// padding, and for a sequence whose first column is padding.
///
/// A graph of two lengths has the entries "encode" and "decode". Their inputs say where padding is
/// in the same way, and it may only come after all rows of a sequence. A mask whose numbers the
/// graph computes with has the limit 2: it must be 0 or 1. Instead of such a mask one may give the
/// number of columns of each sequence that are no padding, [sequences].
///
/// A graph of several lengths that no decoder runs has one entry for each: `sourceEntry` stores the
/// rows that others attend to, `pastEntry` those of earlier runs, and `rectangleEntry` computes the
/// results from them. The entries run in this order, on the same sequences. Their ports may have
/// axes in another order than rows have (PortInfo::axes).
#ifndef HEDDLE_RECTANGLEENTRIES_H
#define HEDDLE_RECTANGLEENTRIES_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace heddle {

inline constexpr std::string_view rectangleEntry = "run";
inline constexpr std::string_view columnsEntry = "run_columns";
inline constexpr std::string_view columnsInput = "columns";
inline constexpr std::string_view columnNumbersInput = "column_numbers";
inline constexpr std::string_view sourceEntry = "run_source";
inline constexpr std::string_view pastEntry = "run_past";

/// The axes in PortInfo::axes that are not parts of a row: the batch, the rows of a sequence, and
/// the keys of weights, which are rows of the source, or of earlier runs and this one.
inline constexpr int64_t sequencesAxis = -1;
inline constexpr int64_t rowsAxis = -2;
inline constexpr int64_t sourceKeysAxis = -3;
inline constexpr int64_t historyKeysAxis = -4;
/// The most axes of a port.
inline constexpr size_t mostPortAxes = 8;

/// Returns whether these may be the axes of a port whose rows have `width` elements or, with
/// `hasKeys`, `width` times as many as there are keys: one axis of rows, one of keys if there are
/// any, at most one of sequences, and others with `width` elements.
constexpr bool arePortAxes(std::span<const int64_t> axes, int64_t width, bool hasKeys) {
  int64_t rows = 0, sequences = 0, keys = 0, rest = width;
  for (const int64_t axis : axes) {
    rows += axis == rowsAxis ? 1 : 0;
    sequences += axis == sequencesAxis ? 1 : 0;
    keys += axis == sourceKeysAxis || axis == historyKeysAxis ? 1 : 0;
    if (axis < historyKeysAxis || axis == 0 || (axis > 0 && rest % axis != 0)) {
      return false;
    }
    rest /= axis > 0 ? axis : 1;
  }
  return axes.size() <= mostPortAxes && rows == 1 && sequences <= 1 && keys == (hasKeys ? 1 : 0) &&
         rest == 1;
}

} // namespace heddle

#endif // HEDDLE_RECTANGLEENTRIES_H
