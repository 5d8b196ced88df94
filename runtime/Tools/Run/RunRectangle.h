// SPDX-License-Identifier: Apache-2.0
///
/// Runs of models whose graph is over rectangles: which rows are padding, and which entry takes the
/// rest (heddle/RectangleEntries.h).
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNRECTANGLE_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNRECTANGLE_H

#include "runtime/Tools/Run/RunTensors.h"

namespace heddle::tools {

/// Whether an entry of a model is over the rows of rectangles that are no padding.
bool isOverRectangles(const EntryInfo &entry);

/// The inputs of such an entry, and the one that takes them: that of `entry` and the one with
/// columns which padding needs that does not end rows.
struct RectangleInputs {
  RunInputs inputs;
  const EntryInfo *entry = nullptr;
};

/// Reads tensors [B,S], or [tokens] with lengths, without padding.
Result<RectangleInputs> readRectangle(const Model &model, const EntryInfo &entry,
                                      const PortInfo &shaping,
                                      std::span<const SafetensorsTensor> tensors,
                                      std::string_view where);

/// Zeros the rows of an output with one for each sequence where the first column is padding: the
/// graph computes them from a row that does not exist.
void clearHiddenSequences(const PortInfo &output, const PaddedBatch &batch,
                          std::vector<float> &rows);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNRECTANGLE_H
