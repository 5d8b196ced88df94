// SPDX-License-Identifier: Apache-2.0
///
/// Runs graphs of several lengths: the rows of the source, of earlier runs and of the run are all
/// tensors of the file, and so are all results.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNLINKED_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNLINKED_H

#include "runtime/Tools/Run/RunOutputs.h"

#include <span>
#include <string_view>

namespace heddle::tools {

/// Returns whether a model has entries that are run together (heddle/RectangleEntries.h).
bool isLinked(const Model &model);

/// Runs all entries on the tensors of a file. Tensors are [sequences, rows, ...], or as the axes of
/// their ports say; without a batch, [rows, width].
Result<RunOutputs> runLinked(const Model &model, const SessionOptions &options,
                             std::span<const SafetensorsTensor> tensors, std::string_view where);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNLINKED_H
