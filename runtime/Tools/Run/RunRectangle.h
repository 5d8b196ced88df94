// SPDX-License-Identifier: Apache-2.0
///
/// Runs models whose graph computes over rectangles: determines which rows are padding, and which
/// entry takes the others (heddle/RectangleEntries.h).
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNRECTANGLE_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNRECTANGLE_H

#include "runtime/Tools/Run/RunTensors.h"

namespace heddle::tools {

/// Returns whether an entry takes the rows of rectangles that are not padding.
bool isOverRectangles(const EntryInfo &entry);

/// The inputs of such an entry, and the entry that takes them: `entry`, or the entry with columns
/// if padding does not only end rows.
struct RectangleInputs {
  RunInputs inputs;
  const EntryInfo *entry = nullptr;
};

/// Reads tensors [B,S], or [tokens] with lengths, and removes the padding.
Result<RectangleInputs> readRectangle(const Model &model, const EntryInfo &entry,
                                      const PortInfo &shaping,
                                      std::span<const SafetensorsTensor> tensors,
                                      std::string_view where);

/// Zeros the rows of a per-sequence output where the first column is padding: the graph computes
/// them from a row that does not exist.
void clearHiddenSequences(const PortInfo &output, const PaddedBatch &batch,
                          std::vector<float> &rows);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNRECTANGLE_H
