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
#ifndef HEDDLE_RECTANGLEENTRIES_H
#define HEDDLE_RECTANGLEENTRIES_H

#include <string_view>

namespace heddle {

inline constexpr std::string_view rectangleEntry = "run";
inline constexpr std::string_view columnsEntry = "run_columns";
inline constexpr std::string_view columnsInput = "columns";
inline constexpr std::string_view columnNumbersInput = "column_numbers";

} // namespace heddle

#endif // HEDDLE_RECTANGLEENTRIES_H
