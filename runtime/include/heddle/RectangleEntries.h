// SPDX-License-Identifier: Apache-2.0
///
/// What compiler and tools agree on for models whose graph is over rectangles [batch, sequence]:
/// entries over ragged rows, in which rows of padding do not exist.
///
/// A row is one of padding where a mask has its `pad`: an optional input that names one. Without
/// such an input it is where the ids that name a pad have it; beside a mask these ids may have it
/// only after the last row of a sequence, because positions are counted without it. In
/// `rectangleEntry` the rows of a sequence are its first columns. A model that also has
/// `columnsEntry` takes padding anywhere: there the input `columnsInput` says which column each row
/// had, and where the model computes with it, `columnNumbersInput` says it as a number. Without
/// that entry padding may only come after all rows of a sequence. Outputs of rows of padding are
/// zero, and so are outputs of a sequence whose first column is one.
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
